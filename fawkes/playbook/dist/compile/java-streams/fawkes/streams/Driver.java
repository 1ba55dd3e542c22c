package fawkes.streams;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.JavaConverters;

/**
 * In the driver: what is known of the latest batch and of the executors, as metrics of the driver; and as many executors
 * as the note on the application's folder in HDFS says. The note is read each second, so an order is never lost, and
 * the stream goes on by the last one while nobody answers.
 */
final class Driver implements DriverPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);
    private static final String NOTE = "user.fawkes.executors";
    private static final long EVERY_MS = 1000;

    private final AtomicLong tasks = new AtomicLong();
    private SparkContext context;
    private Path folder;
    private volatile int wanted;
    private volatile boolean over;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
        this.context = context;
        folder = new Path(context.conf().get("spark.fawkes.folder"));
        wanted = context.conf().getInt("spark.executor.instances", 1);
        context.addSparkListener(
                new SparkListener() {
                    @Override
                    public void onTaskEnd(SparkListenerTaskEnd end) {
                        tasks.incrementAndGet();
                    }
                });
        return Collections.emptyMap();
    }

    @Override
    public void registerMetrics(String application, PluginContext plugin) {
        MetricRegistry registry = plugin.metricRegistry();
        // One text: figures of two batches must not be mixed.
        registry.register("stream", (Gauge<String>) this::figures);
        Thread reader = new Thread(this::follow, "fawkes-streams");
        reader.setDaemon(true);
        reader.start();
    }

    @Override
    public void shutdown() {
        over = true;
    }

    private String figures() {
        Batches.Batch batch = Batches.latest();
        String known = batch == null ? "0 0 0 0 0 0" : words(batch);
        return wanted + " " + executors().size() + " " + tasks + " " + known;
    }

    private static String words(Batches.Batch batch) {
        long sinceMs = (System.nanoTime() - batch.endedNs) / 1_000_000;
        return batch.number + " " + batch.rows + " " + batch.arrive + " " + batch.tookMs + " " + sinceMs + " " + batch.present;
    }

    /** The ids of the executors that are there. */
    private List<String> executors() {
        List<String> ids = new ArrayList<>();
        for (String id : JavaConverters.asJava(context.getExecutorIds())) {
            ids.add(id);
        }
        return ids;
    }

    private void follow() {
        while (!over) {
            Batches.saw(executors().size());
            try {
                FileSystem files = folder.getFileSystem(context.hadoopConfiguration());
                byte[] note = files.getXAttrs(folder).get(NOTE);
                int now = note == null ? wanted : Integer.parseInt(new String(note, StandardCharsets.UTF_8).trim());
                if (now != wanted) {
                    reach(now);
                }
            } catch (Exception error) {
                LOG.warn("how many executors are wanted is not known: {}", error.toString());
            }
            try {
                Thread.sleep(EVERY_MS);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private void reach(int now) {
        List<String> there = executors();
        LOG.info("{} executors instead of {} ({} are there)", now, wanted, there.size());
        wanted = now;
        // The youngest ones go: they are on the nodes that came last.
        there.sort((one, other) -> Integer.compare(Integer.parseInt(other), Integer.parseInt(one)));
        for (String id : there.subList(0, Math.max(0, there.size() - now))) {
            context.killExecutor(id);
        }
        // Last, because each one that goes makes Spark want one less.
        context.requestTotalExecutors(now, 0, scala.collection.immutable.Map$.MODULE$.<String, Object>empty());
    }
}
