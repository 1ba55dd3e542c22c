package fawkes.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskInputOutputContext;

/**
 * A job whose tasks do what a profile says and nothing else: each map reads, computes, sleeps and emits so many bytes, each
 * reduce takes what was emitted, computes, sleeps and writes so many bytes.
 */
final class Load {
    static final String READ = "fawkes.load.map.read.bytes";
    static final String POOL = "fawkes.load.pool";
    static final String MAPS = "fawkes.load.maps";
    private static final String MAP_CPU = "fawkes.load.map.cpu.ms";
    private static final String MAP_SLEEP = "fawkes.load.map.sleep.ms";
    private static final String EMIT = "fawkes.load.map.output.bytes";
    private static final String REDUCE_CPU = "fawkes.load.reduce.cpu.ms";
    private static final String REDUCE_SLEEP = "fawkes.load.reduce.sleep.ms";
    private static final String WRITE = "fawkes.load.output.bytes";

    private static final int KEY = 4;
    /** What MapReduce counts for one record: key and value, each behind its length of four bytes. */
    private static final int RECORD = 100;
    private static final int FRAME = 8;
    private static final int PIECE = 64 * 1024;
    private static final long MS = 1_000_000L;

    private Load() {}

    /** The job of a request, ready to be submitted. */
    static Job job(Configuration conf, Request request) throws IOException {
        int reduces = request.count("reduces");
        conf.setLong(READ, request.amount("map_read_bytes"));
        conf.set(POOL, request.text("pool"));
        conf.setInt(MAPS, request.count("maps"));
        conf.setLong(MAP_CPU, request.amount("map_cpu_ms"));
        conf.setLong(MAP_SLEEP, request.amount("map_ms"));
        conf.setLong(EMIT, request.amount("map_output_bytes"));
        conf.setLong(REDUCE_CPU, request.amount("reduce_cpu_ms"));
        conf.setLong(REDUCE_SLEEP, request.amount("reduce_ms"));
        conf.setLong(WRITE, request.amount("output_bytes"));
        Job job = Job.getInstance(conf, request.text("name"));
        job.setJarByClass(Load.class);
        job.setInputFormatClass(PoolInput.class);
        job.setMapperClass(LoadMap.class);
        job.setPartitionerClass(InTurn.class);
        job.setReducerClass(LoadReduce.class);
        job.setNumReduceTasks(reduces);
        job.setMapOutputKeyClass(reduces == 0 ? NullWritable.class : BytesWritable.class);
        job.setMapOutputValueClass(BytesWritable.class);
        job.setOutputKeyClass(NullWritable.class);
        job.setOutputValueClass(BytesWritable.class);
        job.setOutputFormatClass(BytesOutput.class);
        BytesOutput.setOutputPath(job, new Path(request.text("output")));
        return job;
    }

    /** Reads its split, emits in step with that, then computes and sleeps. */
    public static final class LoadMap extends Mapper<NullWritable, LongWritable, Object, BytesWritable> {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            Configuration conf = context.getConfiguration();
            long toRead = conf.getLong(READ, 0);
            boolean last = context.getNumReduceTasks() == 0;
            long toEmit = conf.getLong(last ? WRITE : EMIT, 0);
            long read = 0;
            long emitted = 0;
            int record = 0;
            while (context.nextKeyValue()) {
                read += context.getCurrentValue().get();
                long due = toRead == 0 ? 0 : (long) ((double) toEmit * read / toRead);
                while (!last && emitted + RECORD <= due) {
                    emitted += emit(context, record++, RECORD);
                }
            }
            if (last) {
                write(context, toEmit);
            } else {
                while (emitted + RECORD <= toEmit) {
                    emitted += emit(context, record++, RECORD);
                }
                if (toEmit - emitted >= FRAME + KEY) {
                    emit(context, record, (int) (toEmit - emitted));
                }
            }
            compute(context, conf.getLong(MAP_CPU, 0));
            nap(context, conf.getLong(MAP_SLEEP, 0));
        }

        private static int emit(Context context, int record, int bytes) throws IOException, InterruptedException {
            // Equal keys would all meet in one call of reduce(); keys in order would make sorting free.
            BytesWritable key = new BytesWritable(ByteBuffer.allocate(KEY).putInt(record * 0x9E3779B9).array());
            byte[] value = new byte[bytes - FRAME - KEY];
            fill(value, record);
            context.write(key, new BytesWritable(value));
            return bytes;
        }
    }

    /** Takes what the maps emitted, computes, sleeps and writes. */
    public static final class LoadReduce extends Reducer<BytesWritable, BytesWritable, NullWritable, BytesWritable> {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            Configuration conf = context.getConfiguration();
            while (context.nextKey()) {
                for (BytesWritable value : context.getValues()) {
                    value.getLength();
                }
            }
            compute(context, conf.getLong(REDUCE_CPU, 0));
            nap(context, conf.getLong(REDUCE_SLEEP, 0));
            write(context, conf.getLong(WRITE, 0));
        }
    }

    /** Reduces get equal shares. */
    public static final class InTurn extends Partitioner<BytesWritable, BytesWritable> {
        @Override
        public int getPartition(BytesWritable key, BytesWritable value, int reduces) {
            int spread = ByteBuffer.wrap(key.getBytes(), 0, KEY).getInt() * 0x144CBC89;
            return Math.floorMod(spread, reduces);
        }
    }

    private static void write(TaskInputOutputContext<?, ?, ?, ?> context, long bytes)
            throws IOException, InterruptedException {
        @SuppressWarnings("unchecked")
        var out = (TaskInputOutputContext<?, ?, NullWritable, BytesWritable>) context;
        byte[] piece = new byte[PIECE];
        for (long written = 0; written < bytes; written += PIECE) {
            fill(piece, written);
            out.write(NullWritable.get(), new BytesWritable(piece, (int) Math.min(PIECE, bytes - written)));
        }
    }

    /** Uses a core for so long; time in which it waits for one does not count. */
    private static void compute(TaskInputOutputContext<?, ?, ?, ?> context, long ms) {
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        long end = clock.getCurrentThreadCpuTime() + ms * MS;
        long told = System.nanoTime();
        while (clock.getCurrentThreadCpuTime() < end) {
            spin();
            if (System.nanoTime() - told > 1000 * MS) {
                context.progress();
                told = System.nanoTime();
            }
        }
    }

    private static volatile long sink;

    private static void spin() {
        long x = sink | 1;
        for (int i = 0; i < 100_000; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        sink = x;
    }

    private static void nap(TaskInputOutputContext<?, ?, ?, ?> context, long ms) throws InterruptedException {
        long end = System.nanoTime() + ms * MS;
        long left;
        while ((left = end - System.nanoTime()) > 0) {
            Thread.sleep(Math.min(1000, left / MS + 1));
            // A task that reports nothing for long is killed.
            context.progress();
        }
    }

    /** Bytes that no compression makes smaller. */
    private static void fill(byte[] bytes, long seed) {
        long x = seed * 0x9E3779B97F4A7C15L + 0x2545F4914F6CDD1DL;
        for (int i = 0; i < bytes.length; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            bytes[i] = (byte) x;
        }
    }
}
