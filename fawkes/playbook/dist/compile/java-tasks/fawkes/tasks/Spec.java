package fawkes.tasks;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.ApplicationConstants;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** The description of a job of tasks, and the folder of its results: a folder for each task that has ended well. */
final class Spec {
    static final String PREFIX = "fawkes.tasks.";
    static final String CONF = "fawkes-tasks.xml";
    static final String JAR = "fawkes-tasks.jar";
    static final String SCRIPT = "fawkes-task";
    static final String COMMAND = "fawkes-command";
    static final String CRIU = "fawkes-criu.tar";
    static final String NONE = "none";

    private final Configuration conf;
    final String name;
    final int count;
    final int memoryMb;
    final int vcores;
    final int attempts;
    final int priority;
    /** How tasks are saved: "none", "own" or "criu". */
    final String checkpoint;

    final int most;
    final Path output;

    Spec(Configuration conf) {
        this.conf = conf;
        name = conf.get(PREFIX + "name");
        count = conf.getInt(PREFIX + "count", 1);
        memoryMb = conf.getInt(PREFIX + "memory.mb", 1);
        vcores = conf.getInt(PREFIX + "vcores", 1);
        attempts = conf.getInt(PREFIX + "attempts", 1);
        priority = conf.getInt(PREFIX + "priority", 0);
        checkpoint = conf.get(PREFIX + "checkpoint", NONE);
        most = conf.getInt(PREFIX + "most", Integer.MAX_VALUE);
        output = new Path(conf.get(PREFIX + "output"));
    }

    /** The description that lies in the folder of a container. */
    static Configuration inContainer() {
        Configuration conf = new YarnConfiguration();
        conf.addResource(new Path(Path.CUR_DIR, CONF));
        // A task that ends while the NameNode starts again would count as failed.
        conf.setBoolean("dfs.client.retry.policy.enabled", true);
        conf.set("dfs.client.retry.policy.spec", "1000,300");
        return conf;
    }

    /** The class path of a container; each node resolves its variables. */
    String classPath() {
        String separator = ApplicationConstants.CLASS_PATH_SEPARATOR;
        String[] entries = conf.getTrimmedStrings(YarnConfiguration.YARN_APPLICATION_CLASSPATH);
        return "$PWD/" + JAR + separator + String.join(separator, entries);
    }

    Path result(int index) {
        return new Path(output, Integer.toString(index));
    }

    /** The folder of the images of a task: what was saved of it when it had to leave a node. */
    Path saved(int index) {
        return new Path(new Path(output, "_saved"), Integer.toString(index));
    }

    /** Each container whose task went on has an empty file here, until the job ends: {@link #cameBack}. */
    private Path resumed() {
        return new Path(new Path(output, "_saved"), "_resumed");
    }

    /** A task that was saved goes on in a container: its image came into being at a time, and was got within another. */
    void goesOn(FileSystem fs, String container, long imagedMs, long tookMs) throws IOException {
        fs.create(new Path(resumed(), container + "-" + imagedMs + "-" + tookMs), true).close();
    }

    /** It did not go on there. */
    void beginsAgain(FileSystem fs, String container) throws IOException {
        for (FileStatus file : told(fs, container + "-*")) {
            fs.delete(file.getPath(), false);
        }
    }

    /** The tasks of an application that went on, and in which times; when is told by the NameNode's clock alone. */
    String cameBack(FileSystem fs, ApplicationId own) throws IOException {
        int count = 0;
        long waitedMs = 0;
        long gotMs = 0;
        for (FileStatus file : told(fs, "*")) {
            String[] words = file.getPath().getName().split("-");
            ContainerId container = ContainerId.fromString(words[0]);
            if (container.getApplicationAttemptId().getApplicationId().equals(own)) {
                long tookMs = Long.parseLong(words[2]);
                count++;
                gotMs += tookMs;
                waitedMs += Math.max(0, file.getModificationTime() - tookMs - Long.parseLong(words[1]));
            }
        }
        return "Tasks that went on: " + count + ", after " + waitedMs + " ms without a container and " + gotMs
                + " ms of reading what was saved";
    }

    private FileStatus[] told(FileSystem fs, String names) throws IOException {
        FileStatus[] files = fs.globStatus(new Path(resumed(), names));
        return files == null ? new FileStatus[0] : files;
    }

    /** Remove what nobody needs; what HDFS does not remove now goes with the job. */
    static void remove(FileSystem fs, Path path) {
        try {
            fs.delete(path, true);
        } catch (IOException error) {
            System.err.println(path + " is still there: " + error);
        }
    }

    /** Attempts of tasks write here; the last step of each is to rename its folder to that of the result. */
    Path temporary() {
        return new Path(output, "_temporary");
    }

    /** Make the folder of the results; false when it is there and belongs to somebody else. */
    boolean claim(FileSystem fs) throws IOException {
        if (fs.exists(output)) {
            return fs.exists(owner());
        }
        return fs.createNewFile(owner());
    }

    /** True if a task that has to leave can go on elsewhere. */
    boolean saves() {
        return !checkpoint.equals(NONE);
    }

    /** True for each task whose result is there. */
    boolean[] finished(FileSystem fs) throws IOException {
        return named(fs, output);
    }

    /** True for each task of which something is saved, be it whole or not. */
    boolean[] imaged(FileSystem fs) throws IOException {
        return named(fs, saved(0).getParent());
    }

    private boolean[] named(FileSystem fs, Path folder) throws IOException {
        boolean[] named = new boolean[count];
        for (FileStatus status : fs.exists(folder) ? fs.listStatus(folder) : new FileStatus[0]) {
            String index = status.getPath().getName();
            if (status.isDirectory() && index.matches("\\d{1,9}") && Integer.parseInt(index) < count) {
                named[Integer.parseInt(index)] = true;
            }
        }
        return named;
    }

    /** Mark the results as complete. */
    void complete(FileSystem fs) throws IOException {
        fs.delete(temporary(), true);
        fs.delete(new Path(output, "_saved"), true);
        // Nothing happens where an earlier ApplicationMaster did it, and ended before YARN knew.
        fs.rename(owner(), new Path(output, "_SUCCESS"));
    }

    private Path owner() {
        return new Path(output, "_job." + name);
    }
}
