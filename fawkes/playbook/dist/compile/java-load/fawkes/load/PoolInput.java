package fawkes.load;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;

/** So many splits of so many bytes out of a folder of files; from its end it goes on at its beginning. */
public final class PoolInput extends InputFormat<NullWritable, LongWritable> {
    @Override
    public List<InputSplit> getSplits(JobContext context) throws IOException {
        Configuration conf = context.getConfiguration();
        long bytes = conf.getLong(Load.READ, 0);
        int maps = conf.getInt(Load.MAPS, 1);
        List<InputSplit> splits = new ArrayList<>();
        Cursor cursor = bytes == 0 ? null : new Cursor(new Path(conf.get(Load.POOL)), conf);
        for (int map = 0; map < maps; map++) {
            splits.add(cursor == null ? split(List.of(), new String[0]) : cursor.take(bytes));
        }
        return splits;
    }

    private static CombineFileSplit split(List<Part> parts, String[] hosts) {
        return new CombineFileSplit(
                parts.stream().map(part -> part.file).toArray(Path[]::new),
                parts.stream().mapToLong(part -> part.start).toArray(),
                parts.stream().mapToLong(part -> part.length).toArray(),
                hosts);
    }

    private static final class Part {
        private final Path file;
        private final long start;
        private final long length;

        Part(Path file, long start, long length) {
            this.file = file;
            this.start = start;
            this.length = length;
        }
    }

    private static final class Cursor {
        private final FileSystem files;
        private final List<FileStatus> pool = new ArrayList<>();
        private int file;
        private long at;

        Cursor(Path folder, Configuration conf) throws IOException {
            files = folder.getFileSystem(conf);
            for (FileStatus status : files.listStatus(folder)) {
                if (status.isFile() && status.getLen() > 0) {
                    pool.add(status);
                }
            }
            if (pool.isEmpty()) {
                throw new IOException(folder + " holds no data to read");
            }
            pool.sort(Comparator.comparing(FileStatus::getPath));
        }

        CombineFileSplit take(long bytes) throws IOException {
            List<Part> parts = new ArrayList<>();
            String[] hosts = new String[0];
            for (long left = bytes; left > 0; ) {
                FileStatus status = pool.get(file);
                long length = Math.min(left, status.getLen() - at);
                if (parts.isEmpty()) {
                    BlockLocation[] blocks = files.getFileBlockLocations(status, at, 1);
                    hosts = blocks.length == 0 ? hosts : blocks[0].getHosts();
                }
                parts.add(new Part(status.getPath(), at, length));
                left -= length;
                at += length;
                if (at == status.getLen()) {
                    at = 0;
                    file = (file + 1) % pool.size();
                }
            }
            return split(parts, hosts);
        }
    }

    @Override
    public RecordReader<NullWritable, LongWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new Pieces();
    }

    /** Values are the lengths of the pieces that were read. */
    private static final class Pieces extends RecordReader<NullWritable, LongWritable> {
        private final byte[] buffer = new byte[256 * 1024];
        private final LongWritable length = new LongWritable();
        private CombineFileSplit split;
        private Configuration conf;
        private FSDataInputStream in;
        private int part = -1;
        private long left;
        private long read;

        @Override
        public void initialize(InputSplit given, TaskAttemptContext context) {
            split = (CombineFileSplit) given;
            conf = context.getConfiguration();
        }

        @Override
        public boolean nextKeyValue() throws IOException {
            while (left == 0) {
                close();
                part++;
                if (part == split.getNumPaths()) {
                    return false;
                }
                Path path = split.getPath(part);
                in = path.getFileSystem(conf).open(path);
                in.seek(split.getOffset(part));
                left = split.getLength(part);
            }
            int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
            if (count < 0) {
                throw new EOFException(split.getPath(part) + " has become shorter");
            }
            left -= count;
            read += count;
            length.set(count);
            return true;
        }

        @Override
        public NullWritable getCurrentKey() {
            return NullWritable.get();
        }

        @Override
        public LongWritable getCurrentValue() {
            return length;
        }

        @Override
        public float getProgress() {
            return split.getLength() == 0 ? 1 : (float) read / split.getLength();
        }

        @Override
        public void close() throws IOException {
            if (in != null) {
                in.close();
                in = null;
            }
        }
    }
}
