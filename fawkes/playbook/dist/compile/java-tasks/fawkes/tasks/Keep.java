package fawkes.tasks;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.ApplicationConstants;

/** The last step of a task: its results become visible in HDFS, whole, and only if no other attempt was first. */
public final class Keep {
    private Keep() {}

    public static void main(String[] args) throws IOException {
        Configuration conf = Spec.inContainer();
        Spec spec = new Spec(conf);
        FileSystem fs = FileSystem.get(conf);
        Path result = fs.makeQualified(spec.result(Integer.parseInt(System.getenv("FAWKES_TASK_INDEX"))));
        String container = System.getenv(ApplicationConstants.Environment.CONTAINER_ID.name());
        Path own = fs.makeQualified(new Path(spec.temporary(), container));
        fs.mkdirs(own.getParent());
        try {
            fs.copyFromLocalFile(false, true, new Path(System.getenv("FAWKES_RESULTS")), own);
            // Unlike FileSystem.rename, this never moves one folder into the other.
            FileContext.getFileContext(fs.getUri(), conf).rename(own, result, Options.Rename.NONE);
        } catch (FileAlreadyExistsException first) {
            System.err.println("an earlier attempt has kept its results: these are not kept");
        } finally {
            Spec.remove(fs, own);
        }
        // After the rename: a task whose results are not there yet may need its image.
        Spec.remove(fs, spec.saved(Integer.parseInt(System.getenv("FAWKES_TASK_INDEX"))));
    }
}
