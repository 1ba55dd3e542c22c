package fawkes.load;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * Stays beside one MR-cluster and submits the jobs that clients ask for, so that no JVM starts for each of them.
 *
 * <p>A client puts NAME.request into the folder; the submitter renames it to NAME.taken, writes NAME.application once YARN
 * has it and NAME.result at the end. After a time without requests it goes.
 */
public final class Submitter {
    private static final long LOOK_MS = 300;
    private static final String REQUEST = ".request";

    private final Path folder;
    private final long idleNs;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicInteger busy = new AtomicInteger();
    private final YarnClient yarn = YarnClient.createYarnClient();

    private Submitter(Path folder, long idleSeconds) {
        this.folder = folder;
        this.idleNs = TimeUnit.SECONDS.toNanos(idleSeconds);
    }

    /** Arguments: the folder of the requests, and the seconds without any after which it goes. */
    public static void main(String[] args) throws Exception {
        new Submitter(Path.of(args[0]), Long.parseLong(args[1])).serve();
        System.exit(0);
    }

    private void serve() throws IOException, InterruptedException {
        yarn.init(new Configuration());
        yarn.start();
        try (WatchService watch = folder.getFileSystem().newWatchService()) {
            folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            write("pid", ProcessHandle.current().pid() + "\n");
            Files.deleteIfExists(folder.resolve("starting"));
            long last = System.nanoTime();
            while (busy.get() > 0 || System.nanoTime() - last < idleNs) {
                if (takeAll()) {
                    last = System.nanoTime();
                }
                WatchKey key = watch.poll(1, TimeUnit.SECONDS);
                if (key != null) {
                    key.pollEvents();
                    key.reset();
                }
                if (busy.get() > 0) {
                    last = System.nanoTime();
                }
            }
            Files.deleteIfExists(folder.resolve("pid"));
            // Who asked before the pid was gone believed it would be heard.
            if (takeAll()) {
                threads.shutdown();
                threads.awaitTermination(1, TimeUnit.DAYS);
            }
        }
    }

    private boolean takeAll() throws IOException {
        boolean any = false;
        try (DirectoryStream<Path> requests = Files.newDirectoryStream(folder, "*" + REQUEST)) {
            for (Path request : requests) {
                String file = request.getFileName().toString();
                String name = file.substring(0, file.length() - REQUEST.length());
                Path taken = folder.resolve(name + ".taken");
                try {
                    Files.move(request, taken, StandardCopyOption.ATOMIC_MOVE);
                } catch (NoSuchFileException gone) {
                    continue;
                }
                any = true;
                busy.incrementAndGet();
                threads.execute(() -> run(name, taken));
            }
        }
        return any;
    }

    private void run(String name, Path taken) {
        try {
            write(name + ".result", outcome(name, new Request(taken)));
        } catch (IOException error) {
            System.err.println(name + ": its result could not be written: " + error);
        } finally {
            busy.decrementAndGet();
        }
    }

    private String outcome(String name, Request request) {
        try {
            Job job = Load.job(configuration(request.text("conf")), request);
            job.submit();
            ApplicationId application = TypeConverter.toYarn(job.getJobID()).getAppId();
            write(name + ".application", application + "\n");
            ApplicationReport report = ended(application);
            if (report.getFinalApplicationStatus() == FinalApplicationStatus.SUCCEEDED) {
                return checked(job, request);
            }
            return "1\n" + application + ": " + report.getDiagnostics().strip() + "\n";
        } catch (Exception error) {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            return "1\n" + text;
        }
    }

    private static String checked(Job job, Request request) throws IOException {
        long expected = request.amount("expect_bytes");
        org.apache.hadoop.fs.Path output = BytesOutput.getOutputPath(job);
        long found = expected == 0 ? 0 : output.getFileSystem(job.getConfiguration()).getContentSummary(output).getLength();
        return found == expected ? "0\n" : "1\n" + output + " has " + found + " bytes instead of " + expected + "\n";
    }

    /** The client's own configuration: it has the job's tag. */
    private static Configuration configuration(String folder) {
        Configuration conf = new Configuration();
        for (String file : new String[] {"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"}) {
            conf.addResource(new org.apache.hadoop.fs.Path("file://" + folder + "/" + file));
        }
        return conf;
    }

    private ApplicationReport ended(ApplicationId application)
            throws IOException, YarnException, InterruptedException {
        while (true) {
            ApplicationReport report = yarn.getApplicationReport(application);
            YarnApplicationState state = report.getYarnApplicationState();
            if (state == YarnApplicationState.FINISHED
                    || state == YarnApplicationState.FAILED
                    || state == YarnApplicationState.KILLED) {
                return report;
            }
            Thread.sleep(LOOK_MS);
        }
    }

    private void write(String name, String text) throws IOException {
        Path whole = folder.resolve(name + ".new");
        Files.writeString(whole, text);
        Files.move(whole, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }
}
