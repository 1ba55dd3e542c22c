package fawkes.tasks;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
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
import org.apache.hadoop.yarn.client.api.async.NMClientAsync;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** The ApplicationMaster of a job of tasks. It opens no port: what others know of it, they know from YARN. */
public final class Master {
    private static final long HEARTBEAT_MS = 1000;
    /** YARN keeps each request in memory, and more than this no pool can grant at once. */
    private static final int MOST_REQUESTS = 10_000;

    private static final int LAST_WORDS = 200;
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
    private final Resource size;
    private final Map<String, LocalResource> resources = new HashMap<>();
    private final AMRMClient<ContainerRequest> yarn = AMRMClient.createAMRMClient();
    private final NMClientAsync nodes = NMClientAsync.createNMClientAsync(new Starts());
    private final Queue<Runnable> notStarted = new ConcurrentLinkedQueue<>();

    private final Deque<Integer> waiting = new ArrayDeque<>();
    private final Deque<ContainerRequest> requests = new ArrayDeque<>();
    private final Map<ContainerId, Task> running = new HashMap<>();
    private final int[] starts;
    private final int[] failures;
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
        this.fs = FileSystem.get(conf);
        this.staging = staging;
        this.size = Resource.newInstance(spec.memoryMb, spec.vcores);
        this.starts = new int[spec.count];
        this.failures = new int[spec.count];
        for (FileStatus file : fs.listStatus(staging)) {
            resources.put(file.getPath().getName(), Client.resource(file));
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

    /** The argument is the folder in HDFS with the files of the job. */
    public static void main(String[] args) throws Exception {
        new Master(Spec.inContainer(), new Path(args[0])).run();
        System.exit(0);
    }

    private void run() throws IOException, YarnException, InterruptedException {
        yarn.start();
        nodes.start();
        yarn.registerApplicationMaster("", -1, "");
        while (done < spec.count && failure == null) {
            request();
            AllocateResponse response = yarn.allocate((float) done / spec.count);
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
        if (failure == null) {
            spec.complete(fs);
            yarn.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
        } else {
            yarn.unregisterApplicationMaster(FinalApplicationStatus.FAILED, failure, "");
        }
        // Before, another attempt of this ApplicationMaster could still need them.
        fs.delete(staging, true);
    }

    /** Ask for as many containers as there are tasks that may begin. */
    private void request() {
        int most = spec.most > 0 ? Math.max(0, spec.most - running.size()) : MOST_REQUESTS;
        int wanted = Math.min(waiting.size(), most);
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
        Integer index = full ? null : waiting.poll();
        if (index == null) {
            yarn.releaseAssignedContainer(container.getId());
            return;
        }
        running.put(container.getId(), new Task(index, container.getNodeId().getHost()));
        starts[index]++;
        Map<String, String> environment = Map.of(
                "CLASSPATH", spec.classPath(),
                "FAWKES_TASK_INDEX", Integer.toString(index),
                "FAWKES_TASK_COUNT", Integer.toString(spec.count),
                "FAWKES_TASK_ATTEMPT", Integer.toString(starts[index]));
        String command = "/bin/sh ./" + Spec.SCRIPT
                + " 1>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stdout"
                + " 2>" + ApplicationConstants.LOG_DIR_EXPANSION_VAR + "/stderr";
        nodes.startContainerAsync(
                container,
                ContainerLaunchContext.newInstance(resources, environment, List.of(command), null, null, null));
    }

    private void ended(ContainerStatus status) throws IOException {
        Task task = running.remove(status.getContainerId());
        if (task == null) {
            return;
        }
        int exit = status.getExitStatus();
        System.err.println("task " + task.index + " on " + task.host + " ended with " + exit);
        if (exit == 0 || fs.exists(spec.result(task.index))) {
            done++;
        } else if (NOT_ITS_FAULT.contains(exit)) {
            waiting.addFirst(task.index);
        } else {
            failed(task, "with exit code " + exit, status.getDiagnostics());
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
            waiting.addFirst(task.index);
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
        String last = lines[lines.length - 1].strip();
        String words = last.substring(0, Math.min(LAST_WORDS, last.length()));
        failure = "task " + task.index + " failed " + failures[task.index] + " times, at last " + how + " on " + task.host
                + (words.isEmpty() ? "" : ": " + words);
    }

    /** Answers of the nodes; what has to change because of them is done by the thread of the heartbeats. */
    private final class Starts extends NMClientAsync.AbstractCallbackHandler {
        @Override
        public void onStartContainerError(ContainerId container, Throwable error) {
            notStarted.add(() -> Master.this.notStarted(container, error));
        }

        @Override
        public void onContainerStarted(ContainerId container, Map<String, ByteBuffer> responses) {}

        @Override
        public void onContainerStatusReceived(ContainerId container, ContainerStatus status) {}

        @Override
        public void onContainerStopped(ContainerId container) {}

        @Override
        public void onContainerResourceIncreased(ContainerId container, Resource resource) {}

        @Override
        public void onContainerResourceUpdated(ContainerId container, Resource resource) {}

        @Override
        public void onGetContainerStatusError(ContainerId container, Throwable error) {}

        @Override
        public void onIncreaseContainerResourceError(ContainerId container, Throwable error) {}

        @Override
        public void onUpdateContainerResourceError(ContainerId container, Throwable error) {}

        @Override
        public void onStopContainerError(ContainerId container, Throwable error) {}
    }
}
