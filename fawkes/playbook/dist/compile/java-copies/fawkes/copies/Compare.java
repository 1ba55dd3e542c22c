package fawkes.copies;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * Compares the files of a folder (here) with those of its copy (there), and prints what it saw as a line of JSON for
 * core/jobs/copied.py to judge. The arguments are the two folders. Folders without files are not compared.
 */
public final class Compare {
    private static final int THREADS = 8;
    private static final int WAITING = 1000;
    private static final int NAMED = 3;
    private static final int REASON = 200;
    /** A file whose nodes are gone can take minutes: after so many the others are not asked for. */
    private static final int UNKNOWN = 100;
    /** The name of a file that DistCp has begun to copy: of one that was killed it stays, and is no copy of anything. */
    private static final String BEGUN = ".distcp.tmp.";

    // A full queue makes the walk take part in the work, so no more files than these are in memory.
    private final ThreadPoolExecutor pool = new ThreadPoolExecutor(THREADS, THREADS, 1, TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(WAITING), new ThreadPoolExecutor.CallerRunsPolicy());
    private final Map<String, Files> found = new TreeMap<>();
    private final Side here;
    private final Side there;
    private volatile boolean whole = true;

    private Compare(Side here, Side there) {
        this.here = here;
        this.there = there;
        List.of("equal", "missing", "different", "unknown_here", "unknown_there", "extra")
                .forEach(kind -> found.put(kind, new Files()));
    }

    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        Map<String, Object> line = new Compare(new Side(conf, args[0]), new Side(conf, args[1])).run();
        ObjectMapper json = new ObjectMapper();
        json.getFactory().enable(JsonGenerator.Feature.ESCAPE_NON_ASCII);
        System.out.println(json.writeValueAsString(line));
        System.exit(0);
    }

    private Map<String, Object> run() throws IOException, InterruptedException {
        long files = walk(here, this::compare);
        walk(there, this::lookForExtra);
        pool.shutdown();
        pool.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        Map<String, Object> line = new TreeMap<>(found);
        line.putAll(Map.of("files", files, "equal", found.get("equal").count, "whole", whole));
        return line;
    }

    /** The number of files below a folder, none if it is not there; each is visited by some thread. */
    private long walk(Side side, Consumer<FileStatus> visitor) throws IOException {
        Deque<RemoteIterator<FileStatus>> open = new ArrayDeque<>();
        if (side.status("") != null) {
            open.push(side.fs.listStatusIterator(side.root));
        }
        long files = 0;
        while (whole && !open.isEmpty()) {
            if (!open.peek().hasNext()) {
                open.pop();
                continue;
            }
            FileStatus status = open.peek().next();
            if (status.isDirectory()) {
                open.push(side.fs.listStatusIterator(status.getPath()));
            } else {
                files++;
                pool.execute(() -> {
                    if (whole) {
                        visitor.accept(status);
                    }
                });
            }
        }
        return files;
    }

    private void compare(FileStatus file) {
        String name = here.name(file);
        String asked = "unknown_there";
        try {
            FileStatus copy = there.status(name);
            if (copy == null) {
                add("missing", name, "");
            } else if (copy.isDirectory() || copy.getLen() != file.getLen()) {
                add("different", name, "");
            } else if (file.getLen() == 0) {
                add("equal", name, "");
            } else {
                asked = "unknown_here";
                FileChecksum sum = here.checksum(name);
                asked = "unknown_there";
                add(sum.equals(there.checksum(name)) ? "equal" : "different", name, "");
            }
        } catch (IOException | RuntimeException error) {
            add(asked, name, String.valueOf(error.getMessage()));
        }
    }

    private void lookForExtra(FileStatus copy) {
        String name = there.name(copy);
        try {
            FileStatus file = here.status(name);
            boolean left = copy.getPath().getName().startsWith(BEGUN);
            if ((file == null && !left) || (file != null && file.isDirectory())) {
                add("extra", name, "");
            }
        } catch (IOException | RuntimeException error) {
            add("unknown_here", name, String.valueOf(error.getMessage()));
        }
    }

    private synchronized void add(String kind, String name, String why) {
        Files those = found.get(kind);
        if (those.count++ == 0) {
            String line = why.split("\n", 2)[0];
            those.why = line.substring(0, Math.min(REASON, line.length()));
        }
        if (those.first.size() < NAMED) {
            those.first.add(name);
        }
        whole = found.get("unknown_here").count + found.get("unknown_there").count < UNKNOWN;
    }

    /** The number of some files, the names of the first few, and the reason for the first one. */
    private static final class Files {
        public long count;
        public String why = "";
        public final List<String> first = new ArrayList<>();
    }

    /** One of the two folders. */
    private static final class Side {
        private final Path root;
        private final FileSystem fs;

        private Side(Configuration conf, String root) throws IOException {
            this.root = new Path(root);
            this.fs = this.root.getFileSystem(conf);
        }

        private String name(FileStatus file) {
            return file.getPath().toUri().getPath().substring(root.toUri().getPath().length() + 1);
        }

        private Path path(String name) {
            // A Path of two strings would take a colon in the second one for the end of a scheme.
            String own = root.toUri().getPath() + (name.isEmpty() ? "" : "/" + name);
            return new Path(root.toUri().getScheme(), root.toUri().getAuthority(), own);
        }

        /** Null if there is no such file or folder. */
        private FileStatus status(String name) throws IOException {
            try {
                return fs.getFileStatus(path(name));
            } catch (FileNotFoundException error) {
                return null;
            }
        }

        private FileChecksum checksum(String name) throws IOException {
            FileChecksum sum = fs.getFileChecksum(path(name));
            if (sum == null) {
                throw new IOException("its file system has none");
            }
            return sum;
        }
    }
}
