package fawkes.streams;

import java.util.Map;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** The latest micro-batch of the application's streaming queries. Spark makes it from its name in the settings. */
public final class Batches extends StreamingQueryListener {
    /** The figures of a batch; all of one batch are read together. */
    static final class Batch {
        final long number;
        final long rows;
        final double arrive;
        final long tookMs;
        final double present;
        final long endedNs = System.nanoTime();

        Batch(long number, long rows, double arrive, long tookMs, double present) {
            this.number = number;
            this.rows = rows;
            this.arrive = arrive;
            this.tookMs = tookMs;
            this.present = present;
        }
    }

    private static volatile Batch latest;
    private static long looks;
    private static long sum;

    /** So many executors are there now. */
    static synchronized void saw(int executors) {
        looks++;
        sum += executors;
    }

    /** The executors that were there on average since this was asked last. */
    private static synchronized double present() {
        double mean = looks == 0 ? 0 : (double) sum / looks;
        looks = 0;
        sum = 0;
        return mean;
    }

    static Batch latest() {
        return latest;
    }

    @Override
    public void onQueryProgress(QueryProgressEvent event) {
        StreamingQueryProgress progress = event.progress();
        Map<String, Long> times = progress.durationMs();
        Long took = times.get("triggerExecution");
        double arrive = progress.inputRowsPerSecond();
        if (took == null) {
            return;
        }
        Batch before = latest;
        long number = before == null ? 1 : before.number + 1;
        latest = new Batch(number, progress.numInputRows(), Double.isFinite(arrive) ? arrive : 0.0, took, present());
    }

    @Override
    public void onQueryStarted(QueryStartedEvent event) {
        // Nothing is known before the first batch.
    }

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {
        // The program decides what follows.
    }
}
