package fawkes.tasks;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.ApplicationConstants;

/**
 * Images of a task: the file ./fawkes-image goes to HDFS, the newest whole one comes from there, or is of no use there.
 *
 * <p>What has changed little since the image that was loaded (./fawkes-parent) goes as an increment of that one. The
 * name of an image has its size and its SHA-256, and before them the SHA-256 of its parent if it is an increment.
 * Exit code 3: there is none. What HDFS does not say is an error.
 */
public final class Image {
    private static final int NONE = 3;
    private static final int HEX = 64;
    /** Each link is read again at each start, and with one that is damaged all later ones are lost. */
    private static final int MOST_LINKS = 3;

    private static final java.nio.file.Path FILE = Paths.get("fawkes-image");
    private static final java.nio.file.Path PARENT = Paths.get("fawkes-parent");
    private static final java.nio.file.Path PART = Paths.get("fawkes-image.part");
    private static final java.nio.file.Path NAME = Paths.get("fawkes-image.name");

    private final FileSystem fs;
    private final Configuration conf;
    private final Spec spec;
    private final String container = System.getenv(ApplicationConstants.Environment.CONTAINER_ID.name());
    private final Path folder;

    private Image(Configuration conf) throws IOException {
        this.conf = conf;
        this.fs = FileSystem.get(conf);
        int index = Integer.parseInt(System.getenv("FAWKES_TASK_INDEX"));
        this.spec = new Spec(conf);
        this.folder = fs.makeQualified(spec.saved(index));
    }

    public static void main(String[] args) throws IOException {
        Image image = new Image(Spec.inContainer());
        if (args[0].equals("save")) {
            image.save();
        } else if (args[0].equals("drop")) {
            image.drop();
        } else if (args[0].equals("leave")) {
            image.spec.beginsAgain(image.fs, image.container);
        } else if (!image.load()) {
            System.exit(NONE);
        }
    }

    /** A new image is visible only when it is whole; those that it does not need go afterwards. */
    private void save() throws IOException {
        Path own = new Path(folder, "_" + container);
        List<Path> chain = Files.exists(NAME) ? chain(images(), Files.readString(NAME)) : List.of();
        String digest = digest(FILE);
        String parent = "";
        if (!chain.isEmpty() && chain.size() < MOST_LINKS && Increment.write(PARENT, FILE, digest, PART)) {
            Files.move(PART, FILE, StandardCopyOption.REPLACE_EXISTING);
            digest = digest(FILE);
            parent = digestIn(chain.get(0)) + "-";
        } else {
            chain = List.of();
        }
        try (OutputStream out = fs.create(own, true)) {
            Files.copy(FILE, out);
        }
        Path whole = new Path(folder, container + "-" + parent + Files.size(FILE) + "-" + digest);
        FileContext.getFileContext(fs.getUri(), conf).rename(own, whole, Options.Rename.OVERWRITE);
        for (FileStatus other : fs.listStatus(folder)) {
            if (!other.getPath().equals(whole) && !chain.contains(other.getPath())) {
                fs.delete(other.getPath(), false);
            }
        }
    }

    private boolean load() throws IOException {
        List<Path> images = images();
        for (Path image : images) {
            if (putTogether(chain(images, digestIn(image)))) {
                Files.writeString(NAME, digestIn(image));
                tell(fs.getFileStatus(image).getModificationTime());
                return true;
            }
            System.err.println("the image " + image + " or one that it needs is damaged: it is removed");
            fs.delete(image, false);
        }
        return false;
    }

    /** A task whose node died has run since its image: for how long nobody knows, so nothing is said of that. */
    private void tell(long imagedMs) {
        Instant began = ProcessHandle.current().info().startInstant().orElse(null);
        if ("just".equals(System.getenv("FAWKES_TASK_SAVED")) && began != null) {
            try {
                spec.goesOn(fs, container, imagedMs, Duration.between(began, Instant.now()).toMillis());
            } catch (IOException error) {
                System.err.println("nobody will know when this task went on: " + error);
            }
        }
    }

    /** What was loaded goes: it is whole, and of no use to anybody. */
    private void drop() throws IOException {
        spec.beginsAgain(fs, container);
        fs.delete(folder, true);
        Files.delete(NAME);
    }

    /** The newest first. */
    private List<Path> images() throws IOException {
        if (!fs.exists(folder)) {
            return List.of();
        }
        FileStatus[] images = fs.listStatus(folder, path -> !path.getName().startsWith("_"));
        Arrays.sort(images, Comparator.comparingLong(FileStatus::getModificationTime).reversed());
        return List.of(Arrays.stream(images).map(FileStatus::getPath).toArray(Path[]::new));
    }

    /** The image with this SHA-256 and those that it needs, up to a whole one; empty when one of them is missing. */
    private static List<Path> chain(List<Path> images, String digest) {
        List<Path> chain = new ArrayList<>();
        for (String wanted = digest; wanted != null; ) {
            String end = "-" + wanted;
            Optional<Path> link = images.stream().filter(path -> path.getName().endsWith(end)).findFirst();
            if (link.isEmpty() || chain.size() == MOST_LINKS) {
                return List.of();
            }
            chain.add(link.get());
            String[] words = link.get().getName().split("-");
            wanted = words.length > 3 ? words[1] : null;
        }
        return chain;
    }

    /** Bring a chain as one file; false when that is not what was saved. */
    private boolean putTogether(List<Path> chain) throws IOException {
        for (int link = chain.size() - 1; link >= 0; link--) {
            Path path = chain.get(link);
            Files.deleteIfExists(PART);
            try (InputStream in = fs.open(path)) {
                Files.copy(in, PART);
            }
            if (!path.getName().endsWith("-" + Files.size(PART) + "-" + digest(PART))) {
                return false;
            }
            if (link < chain.size() - 1) {
                Files.move(FILE, PARENT, StandardCopyOption.REPLACE_EXISTING);
                if (!Increment.apply(PARENT, PART, FILE).equals(digest(FILE))) {
                    return false;
                }
            } else {
                Files.move(PART, FILE, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return !chain.isEmpty();
    }

    private static String digestIn(Path image) {
        return image.getName().substring(image.getName().lastIndexOf('-') + 1);
    }

    /** By the program of the node: Java without its second compiler takes three times as long. */
    private static String digest(java.nio.file.Path file) throws IOException {
        Process program = new ProcessBuilder("sha256sum", file.toString()).redirectError(Redirect.INHERIT).start();
        String line = new String(program.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        if (line.indexOf(' ') != HEX) {
            throw new IOException("sha256sum did not read " + file);
        }
        return line.substring(0, HEX);
    }
}
