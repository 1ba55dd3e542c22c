package fawkes.tasks;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.ApplicationConstants;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** The ApplicationMaster of a job of tasks. It opens no port: what others know of it, they know from YARN. */
public final class Master {
    private static final long HEARTBEAT_MS = 1000;
    /** YARN keeps each request in memory, and more than this no pool can grant at once. */
    private static final int MOST_REQUESTS = 10_000;

    private static final int STARTERS = 20;
    private static final int LAST_WORDS = 200;
    /** The codes of a container whose task had to leave its node, without and with a newer image (fawkes-task). */
    private static final int LEFT = 84;

    private static final int SAVED = 85;
    /** Its command has not run, because what was saved of it could not be read there (fawkes-task). */
    private static final int UNREAD = 83;

    private static final Priority EQUAL = Priority.newInstance(1);
    private static final Set<Integer> NOT_ITS_FAULT = Set.of(
            ContainerExitStatus.ABORTED,
            ContainerExitStatus.DISKS_FAILED,
            ContainerExitStatus.PREEMPTED,
            ContainerExitStatus.KILLED_BY_RESOURCEMANAGER,
            ContainerExitStatus.KILLED_BY_CONTAINER_SCHEDULER);

    private final Spec spec;
    private final FileSystem fs;
    private final Path staging;
    /** Each start leaves an empty file here, so that the next ApplicationMaster knows whose containers run. */
    private final Path started;

    private final Resource size;
    private final Map<String, LocalResource> resources = new HashMap<>();
    private final AMRMClient<ContainerRequest> yarn = AMRMClient.createAMRMClient();
    private final NMClient nodes = NMClient.createNMClient();
    /** A node that does not answer takes long, and heartbeats must go on. */
    private final ExecutorService starters = Executors.newFixedThreadPool(STARTERS);

    private final Queue<Runnable> notStarted = new ConcurrentLinkedQueue<>();

    private final Deque<Integer> waiting = new ArrayDeque<>();
    /** Tasks that have run before go first, in the order in which they left: reversed, the first waits for all. */
    private final Deque<Integer> again = new ArrayDeque<>();

    private final Deque<ContainerRequest> requests = new ArrayDeque<>();
    private final Hold hold;
    private final Map<ContainerId, Task> running = new HashMap<>();
    /** The tasks of containers that an earlier ApplicationMaster started. */
    private final Map<String, Integer> earlier = new HashMap<>();

    private final int[] starts;
    private final int[] failures;
    private final int[] kills;
    private final boolean[] imaged;
    /** True for a task that has saved itself just now, and has not run since. */
    private final boolean[] away;

    private int done;
    private String failure;

    private static final class Task {
        final int index;
        final String host;

        Task(int index, String host) {
            this.index = index;
            this.host = host;
        }
    }

    private Master(Configuration conf, Path staging) throws IOException {
        this.spec = new Spec(conf);
        this.hold = new Hold(spec.priority);
        this.fs = FileSystem.get(conf);
        this.staging = staging;
        this.started = new Path(staging, "_started");
        this.size = Resource.newInstance(spec.memoryMb, spec.vcores);
        this.starts = new int[spec.count];
        this.failures = new int[spec.count];
        this.kills = new int[spec.count];
        this.imaged = spec.imaged(fs);
        this.away = new boolean[spec.count];
        for (FileStatus file : fs.listStatus(staging)) {
            if (file.isFile()) {
                resources.put(file.getPath().getName(), Client.resource(file));
            }
        }
        fs.mkdirs(started);
        for (FileStatus file : fs.listStatus(started)) {
            remember(file.getPath().getName().split("-"));
        }
        boolean[] finished = spec.finished(fs);
        for (int index = 0; index < spec.count; index++) {
            if (finished[index]) {
                done++;
            } else {
                waiting.add(index);
            }
        }
        yarn.init(conf);
        nodes.init(conf);
    }

    /** A start by an earlier ApplicationMaster: its container and task, and the counts of that task. */
    private void remember(String[] start) {
        int index = Integer.parseInt(start[1]);
        earlier.put(start[0], index);
        starts[index] = Math.max(starts[index], Integer.parseInt(start[2]));
        failures[index] = Math.max(failures[index], Integer.parseInt(start[3]));
        kills[index] = Math.max(kills[index], Integer.parseInt(start[4]));
    }

    /** The argument is the folder in HDFS with the files of the job. */
    public static void main(String[] args) {
        try {
            new Master(Spec.inContainer(), new Path(args[0])).run();
            System.exit(0);
        } catch (IOException | YarnException | InterruptedException | RuntimeException error) {
            // Threads of YARN's clients would live on, and YARN would wait for a heartbeat.
            error.printStackTrace();
            System.exit(1);
        }
    }

    private void run() throws IOException, YarnException, InterruptedException {
        yarn.start();
        nodes.start();
        goOn(yarn.registerApplicationMaster("", -1, "").getContainersFromPreviousAttempts());
        while (done < spec.count && failure == null) {
            request();
            AllocateResponse response = yarn.allocate((float) done / spec.count);
            // A node that did not answer YARN in time comes back with its containers.
            goOn(response.getContainersFromPreviousAttempts());
            for (Container container : response.getAllocatedContainers()) {
                start(container);
            }
            for (ContainerStatus status : response.getCompletedContainersStatuses()) {
                ended(status);
            }
            for (Runnable error = notStarted.poll(); error != null; error = notStarted.poll()) {
                error.run();
            }
            Thread.sleep(HEARTBEAT_MS);
        }
        String lastWords = spec.saves() ? cameBack() : "";
        if (failure == null) {
            spec.complete(fs);
            yarn.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, lastWords, "");
        } else {
            Spec.remove(fs, spec.temporary());
            yarn.unregisterApplicationMaster(FinalApplicationStatus.FAILED, failure + "\n" + lastWords, "");
        }
        // Before, another attempt of this ApplicationMaster could still need them.
        fs.delete(staging, true);
    }

    /** Containers of an earlier ApplicationMaster run on; one whose task began elsewhere meanwhile, or has none, goes. */
    private void goOn(List<Container> containers) {
        for (Container container : containers) {
            Integer index = earlier.get(container.getId().toString());
            if (index != null && waiting.remove(index)) {
                running.put(container.getId(), new Task(index, container.getNodeId().getHost()));
            } else if (!running.containsKey(container.getId())) {
                yarn.releaseAssignedContainer(container.getId());
            }
        }
    }

    /** Empty when HDFS does not say: that is no reason to do anything again. */
    private String cameBack() {
        try {
            ContainerId own = ContainerId.fromString(System.getenv(ApplicationConstants.Environment.CONTAINER_ID.name()));
            return spec.cameBack(fs, own.getApplicationAttemptId().getApplicationId());
        } catch (IOException error) {
            System.err.println("nobody will know how tasks went on: " + error);
            return "";
        }
    }

    /** Ask for as many containers as there are tasks that may begin. */
    private void request() {
        int most = spec.most > 0 ? Math.max(0, spec.most - running.size()) : MOST_REQUESTS;
        int wanted = hold.now() ? 0 : Math.min(again.size() + waiting.size(), most);
        while (requests.size() < wanted) {
            ContainerRequest request = new ContainerRequest(size, null, null, EQUAL);
            requests.add(request);
            yarn.addContainerRequest(request);
        }
        while (requests.size() > wanted) {
            yarn.removeContainerRequest(requests.remove());
        }
    }

    private void start(Container container) {
        if (!requests.isEmpty()) {
            yarn.removeContainerRequest(requests.remove());
        }
        boolean full = spec.most > 0 && running.size() >= spec.most;
        Integer index = full ? null : again.isEmpty() ? waiting.poll() : again.poll();
        if (index == null) {
            yarn.releaseAssignedContainer(container.getId());
            return;
        }
        running.put(container.getId(), new Task(index, container.getNodeId().getHost()));
        starts[index]++;
        Map<String, String> environment = Map.of(
                "CLASSPATH", spec.classPath(),
                "FAWKES_JOB", spec.name,
                "FAWKES_TASK_INDEX", Integer.toString(index),
                "FAWKES_TASK_COUNT", Integer.toString(spec.count),
                "FAWKES_TASK_ATTEMPT", Integer.toString(starts[index]),
                "FAWKES_TASK_KILLS", Integer.toString(kills[index]),
                "FAWKES_TASK_SAVES", spec.saves() ? spec.checkpoint : "",
                "FAWKES_TASK_SAVED",
                away[index] ? "just" : spec.saves() && (imaged[index] || starts[index] > 1) ? "yes" : "");
        away[index] = false;
        String command = "/bin/sh ./" + Spec.SCRIPT
                + " 1>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stdout"
                + " 2>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stderr";
        ContainerLaunchContext context =
                ContainerLaunchContext.newInstance(resources, environment, List.of(command), null, null, null);
        String start = String.join(
                "-", container.getId().toString(), "" + index, "" + starts[index], "" + failures[index], "" + kills[index]);
        starters.execute(() -> {
            try {
                // The folder is not made anew once the job has ended.
                fs.createNonRecursive(new Path(started, start), false, 512, (short) 1, fs.getDefaultBlockSize(started), null)
                        .close();
                nodes.startContainer(container, context);
            } catch (IOException | YarnException | RuntimeException error) {
                notStarted.add(() -> notStarted(container.getId(), error));
            }
        });
    }

    private void ended(ContainerStatus status) {
        Task task = running.remove(status.getContainerId());
        if (task == null) {
            Integer index = earlier.get(status.getContainerId().toString());
            // It ended while there was no ApplicationMaster.
            if (index != null && hasResult(index) && waiting.remove(index)) {
                done++;
            }
            return;
        }
        int exit = status.getExitStatus();
        System.err.println("task " + task.index + " on " + task.host + " ended with " + exit);
        if (exit == 0 || hasResult(task.index)) {
            done++;
        } else if (NOT_ITS_FAULT.contains(exit) || exit == SAVED || exit == LEFT || exit == UNREAD) {
            kills[task.index] += exit == LEFT ? 1 : 0;
            away[task.index] = exit == SAVED;
            again.add(task.index);
        } else {
            failed(task, "with exit code " + exit, status.getDiagnostics());
        }
    }

    /** True if the container ended only after its last step; false when HDFS does not say. */
    private boolean hasResult(int index) {
        try {
            return fs.exists(spec.result(index));
        } catch (IOException unknown) {
            return false;
        }
    }

    private void notStarted(ContainerId container, Throwable error) {
        Task task = running.remove(container);
        if (task == null) {
            return;
        }
        yarn.releaseAssignedContainer(container);
        System.err.println("task " + task.index + " on " + task.host + " was not started: " + error);
        if (error instanceof IOException) {
            // The node does not answer: that is a lost container.
            again.add(task.index);
        } else {
            failed(task, "because it could not be started", String.valueOf(error.getMessage()));
        }
    }

    private void failed(Task task, String how, String diagnostics) {
        if (++failures[task.index] < spec.attempts) {
            waiting.addLast(task.index);
            return;
        }
        String[] lines = diagnostics.strip().split("\\s*\n");
        // Behind YARN's own heading comes nothing when the task has said nothing.
        String last = lines[lines.length - 1].strip().replaceFirst("^Last \\d+ bytes of .*", "");
        String words = last.substring(0, Math.min(LAST_WORDS, last.length()));
        failure = "task " + task.index + " failed " + failures[task.index] + " times, at last " + how + " on " + task.host
                + (words.isEmpty() ? "" : ": " + words);
    }
}
