package fawkes.load;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Files that hold the values and nothing between them: as many bytes as were written. */
public final class BytesOutput extends FileOutputFormat<NullWritable, BytesWritable> {
    @Override
    public RecordWriter<NullWritable, BytesWritable> getRecordWriter(TaskAttemptContext context) throws IOException {
        Path file = getDefaultWorkFile(context, "");
        FSDataOutputStream out = file.getFileSystem(context.getConfiguration()).create(file, false);
        return new RecordWriter<>() {
            @Override
            public void write(NullWritable key, BytesWritable value) throws IOException {
                out.write(value.getBytes(), 0, value.getLength());
            }

            @Override
            public void close(TaskAttemptContext ended) throws IOException {
                out.close();
            }
        };
    }
}
