import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Puts one small file after another into a folder of HDFS, as users do; prints how each ended, with the time (s). */
public class Puts {
  public static void main(String[] args) throws Exception {
    FileSystem hdfs = FileSystem.get(new Configuration());
    for (int number = 0;; number++) {
      String how = "put";
      try {
        try (FSDataOutputStream out = hdfs.create(new Path(args[0], "" + number))) {
          out.write(new byte[1 << 16]);
        }
      } catch (IOException error) {
        how = "failed " + error.toString().split("\n")[0];
      }
      System.out.println(System.currentTimeMillis() / 1000.0 + " " + how);
      Thread.sleep(100);
    }
  }
}
