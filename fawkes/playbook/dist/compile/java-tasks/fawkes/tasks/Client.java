package fawkes.tasks;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationConstants;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.api.records.LocalResourceVisibility;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** Gives a job of tasks to YARN and waits for its end. The arguments are the files that go along. */
public final class Client {
    private static final long LOOK_MS = 1000;
    private static final Set<YarnApplicationState> ENDED =
            Set.of(YarnApplicationState.FINISHED, YarnApplicationState.FAILED, YarnApplicationState.KILLED);
    private static final FsPermission PRIVATE = new FsPermission((short) 0700);

    private final Configuration conf;
    private final Spec spec;
    private final FileSystem fs;

    private Client(Configuration conf) throws IOException {
        this.conf = conf;
        this.spec = new Spec(conf);
        this.fs = FileSystem.get(conf);
    }

    public static void main(String[] args) throws Exception {
        Configuration conf = new YarnConfiguration();
        conf.addResource("mapred-site.xml");
        System.exit(new Client(conf).run(args));
    }

    private int run(String[] files) throws IOException, YarnException, InterruptedException {
        if (!spec.claim(fs)) {
            // Fawkes knows these words from MapReduce.
            System.err.println("Output directory " + fs.makeQualified(spec.output) + " already exists");
            return 1;
        }
        try (YarnClient yarn = YarnClient.createYarnClient()) {
            yarn.init(conf);
            yarn.start();
            ApplicationSubmissionContext context = yarn.createApplication().getApplicationSubmissionContext();
            ApplicationId application = context.getApplicationId();
            Path staging = staging(application);
            describe(context, upload(staging, files), staging);
            yarn.submitApplication(context);
            System.err.println("Submitted application " + application);
            ApplicationReport report = ended(yarn, application);
            fs.delete(staging, true);
            if (report.getFinalApplicationStatus() == FinalApplicationStatus.SUCCEEDED) {
                return 0;
            }
            System.err.println(report.getDiagnostics());
            return 1;
        }
    }

    /** Where MapReduce keeps the files of its jobs. */
    private Path staging(ApplicationId application) throws IOException {
        Path top = new Path(conf.get("yarn.app.mapreduce.am.staging-dir"));
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        return new Path(top, user + "/.staging/" + application.toString().replace("application", "job"));
    }

    private Map<String, LocalResource> upload(Path staging, String[] files) throws IOException {
        fs.mkdirs(staging.getParent());
        FileSystem.mkdirs(fs, staging, PRIVATE);
        short replicas = (short) conf.getInt("mapreduce.client.submit.file.replication", 1);
        Configuration own = new Configuration(false);
        for (Map.Entry<String, String> entry : conf) {
            if (entry.getKey().startsWith(Spec.PREFIX)) {
                own.set(entry.getKey(), entry.getValue());
            }
        }
        own.setInt(Spec.PREFIX + "most", conf.getInt("mapreduce.job.running.map.limit", 0));
        Map<String, LocalResource> resources = new HashMap<>();
        for (String name : List.of(Spec.CONF, Spec.COMMAND)) {
            try (OutputStream out = fs.create(new Path(staging, name), replicas)) {
                if (name.equals(Spec.CONF)) {
                    own.writeXml(out);
                } else {
                    // A shell without this ends with the signal, before what it runs has saved itself.
                    String text = (spec.checkpoint.equals("own") ? "trap : USR1; " : "") + conf.getRaw(Spec.PREFIX + "command") + "\n";
                    out.write(text.getBytes(StandardCharsets.UTF_8));
                }
            }
            add(resources, new Path(staging, name));
        }
        for (String file : files) {
            Path target = new Path(staging, new File(file).getName());
            fs.copyFromLocalFile(false, true, new Path(new File(file).toURI()), target);
            fs.setReplication(target, replicas);
            add(resources, target);
        }
        return resources;
    }

    private void add(Map<String, LocalResource> resources, Path path) throws IOException {
        resources.put(path.getName(), resource(fs.getFileStatus(fs.makeQualified(path))));
    }

    static LocalResource resource(FileStatus file) {
        return LocalResource.newInstance(
                URL.fromPath(file.getPath()),
                // CRIU comes as an archive; what a user's own archive means is the user's.
                file.getPath().getName().equals(Spec.CRIU) ? LocalResourceType.ARCHIVE : LocalResourceType.FILE,
                LocalResourceVisibility.APPLICATION,
                file.getLen(),
                file.getModificationTime());
    }

    private void describe(ApplicationSubmissionContext context, Map<String, LocalResource> resources, Path staging) {
        Set<String> tags = new HashSet<>(Arrays.asList(conf.getTrimmedStrings("mapreduce.job.tags")));
        tags.add("tasks-" + spec.count);
        tags.add("container-" + spec.memoryMb);
        context.setApplicationName(spec.name);
        context.setApplicationType("FAWKES");
        context.setApplicationTags(tags);
        context.setQueue(conf.get("mapreduce.job.queuename", YarnConfiguration.DEFAULT_QUEUE_NAME));
        context.setPriority(Priority.newInstance(spec.priority));
        context.setKeepContainersAcrossApplicationAttempts(true);
        context.setResource(Resource.newInstance(conf.getInt("yarn.app.mapreduce.am.resource.mb", 1536), 1));
        String options = conf.get("yarn.app.mapreduce.am.command-opts", "");
        String command = "$JAVA_HOME/bin/java " + options + " fawkes.tasks.Master " + fs.makeQualified(staging)
                + " 1>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stdout"
                + " 2>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stderr";
        Map<String, String> environment = Map.of("CLASSPATH", spec.classPath());
        context.setAMContainerSpec(
                ContainerLaunchContext.newInstance(resources, environment, List.of(command), null, null, null));
    }

    private static ApplicationReport ended(YarnClient yarn, ApplicationId application)
            throws IOException, YarnException, InterruptedException {
        while (true) {
            ApplicationReport report = yarn.getApplicationReport(application);
            if (ENDED.contains(report.getYarnApplicationState())) {
                return report;
            }
            Thread.sleep(LOOK_MS);
        }
    }
}
