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
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * Compares the files of a folder (here) with those of its copy (there) and prints what it saw as a line of JSON, for
 * core/jobs/copied.py to judge. The arguments are the two folders. Folders without files are not compared.
 */
public final class Compare {
    private static final int THREADS = 8;
    private static final int WAITING = 1000;
    private static final int NAMED = 3;
    private static final int REASON = 200;
    /** Each file whose nodes are gone can take minutes, so after so many the rest is not asked for. */
    private static final int UNKNOWN = 100;

    private final Side here;
    private final Side there;
    private final Map<String, Files> found = new TreeMap<>();
    private long files;
    private long equal;
    private volatile long unknown;

    private Compare(Side here, Side there) {
        this.here = here;
        this.there = there;
        for (String kind : List.of("missing", "different", "unknown_here", "unknown_there", "extra")) {
            found.put(kind, new Files());
        }
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
        // A full queue makes the walk take part in the work, so no more than a queue's files are in memory.
        ThreadPoolExecutor pool = new ThreadPoolExecutor(THREADS, THREADS, 1, TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(WAITING), new ThreadPoolExecutor.CallerRunsPolicy());
        boolean whole = walk(here, file -> {
            files++;
            pool.execute(() -> compare(file));
        });
        whole = whole && walk(there, file -> pool.execute(() -> lookForExtra(file)));
        pool.shutdown();
        whole = pool.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS) && whole;
        Map<String, Object> line = new TreeMap<>(found);
        line.put("files", files);
        line.put("equal", equal);
        line.put("whole", whole);
        return line;
    }

    private interface Visitor {
        void visit(FileStatus file);
    }

    /** Visits all files below a folder, none if it is not there; false when it was broken off. */
    private boolean walk(Side side, Visitor visitor) throws IOException {
        Deque<RemoteIterator<FileStatus>> open = new ArrayDeque<>();
        if (side.status("") != null) {
            open.push(side.fs.listStatusIterator(side.root));
        }
        while (!open.isEmpty()) {
            if (unknown >= UNKNOWN) {
                return false;
            }
            if (!open.peek().hasNext()) {
                open.pop();
                continue;
            }
            FileStatus status = open.peek().next();
            if (status.isDirectory()) {
                open.push(side.fs.listStatusIterator(status.getPath()));
            } else {
                visitor.visit(status);
            }
        }
        return true;
    }

    private void compare(FileStatus file) {
        String name = here.name(file);
        FileStatus copy;
        try {
            copy = there.status(name);
        } catch (IOException | RuntimeException error) {
            unknown("unknown_there", name, error);
            return;
        }
        if (copy == null) {
            add("missing", name, "");
        } else if (copy.isDirectory() || copy.getLen() != file.getLen()) {
            add("different", name, "");
        } else if (file.getLen() == 0) {
            same();
        } else {
            FileChecksum one = checksum(here, "unknown_here", name);
            FileChecksum other = one == null ? null : checksum(there, "unknown_there", name);
            if (other != null && one.equals(other)) {
                same();
            } else if (other != null) {
                add("different", name, "");
            }
        }
    }

    private void lookForExtra(FileStatus copy) {
        String name = there.name(copy);
        try {
            FileStatus file = here.status(name);
            if (file == null || file.isDirectory()) {
                add("extra", name, "");
            }
        } catch (IOException | RuntimeException error) {
            unknown("unknown_here", name, error);
        }
    }

    /** The checksum of a file; null when it is not known, which is counted. */
    private FileChecksum checksum(Side side, String kind, String name) {
        try {
            FileChecksum sum = side.fs.getFileChecksum(side.path(name));
            if (sum == null) {
                throw new IOException("its file system has none");
            }
            return sum;
        } catch (IOException | RuntimeException error) {
            unknown(kind, name, error);
            return null;
        }
    }

    private synchronized void unknown(String kind, String name, Exception error) {
        unknown++;
        String why = String.valueOf(error.getMessage()).split("\n", 2)[0];
        add(kind, name, why.substring(0, Math.min(REASON, why.length())));
    }

    private synchronized void add(String kind, String name, String why) {
        Files those = found.get(kind);
        if (those.count++ == 0) {
            those.why = why;
        }
        if (those.first.size() < NAMED) {
            those.first.add(name);
        }
    }

    private synchronized void same() {
        equal++;
    }

    /** How many files there are of a kind, the names of the first, and why the very first is one. */
    private static final class Files {
        public long count;
        public String why;
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
            String own = root.toUri().getPath();
            return new Path(root.toUri().getScheme(), root.toUri().getAuthority(), name.isEmpty() ? own : own + "/" + name);
        }

        /** Null if there is no such file or folder. */
        private FileStatus status(String name) throws IOException {
            try {
                return fs.getFileStatus(path(name));
            } catch (FileNotFoundException error) {
                return null;
            }
        }
    }
}
