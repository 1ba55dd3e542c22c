package fawkes.tasks;

import java.io.FileNotFoundException;
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
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.BlockMissingException;
import org.apache.hadoop.yarn.api.ApplicationConstants;

/**
 * Images of a task: the file ./fawkes-image goes to HDFS, the newest whole one comes from there, or is of no use there.
 *
 * <p>What has changed little since the image that was loaded (./fawkes-parent) goes as an increment of that one. The
 * name of an image has its size and its SHA-256, and before them the SHA-256 of its parent if it is an increment.
 * Exit code 3: there is none. What HDFS does not say is an error, and what it cannot read now stays for later.
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
            image.leave();
        } else if (!image.load()) {
            System.exit(NONE);
        }
    }

    /** A new image is visible only when it is whole; what it goes on from and does not need goes afterwards. */
    private void save() throws IOException {
        Path own = new Path(folder, "_" + container);
        List<Path> chain = loaded();
        String digest = digest(FILE);
        String parent = "";
        if (isWhole(chain) && chain.size() < MOST_LINKS && Increment.write(PARENT, FILE, digest, PART)) {
            Files.move(PART, FILE, StandardCopyOption.REPLACE_EXISTING);
            digest = digest(FILE);
            parent = digestIn(chain.get(0)) + "-";
        }
        try {
            try (OutputStream out = fs.create(own, true)) {
                Files.copy(FILE, out);
            }
            Path whole = new Path(folder, container + "-" + parent + Files.size(FILE) + "-" + digest);
            FileContext.getFileContext(fs.getUri(), conf).rename(own, whole, Options.Rename.OVERWRITE);
        } finally {
            Spec.remove(fs, own);
        }
        remove(chain);
        for (FileStatus part : fs.listStatus(folder, path -> path.getName().startsWith("_"))) {
            fs.delete(part.getPath(), false);
        }
    }

    /** Remove these images but for what others need: one that cannot be read now may come back. */
    private void remove(List<Path> chain) throws IOException {
        List<Path> images = images();
        List<Path> gone = new ArrayList<>(chain);
        for (Path image : images) {
            if (!chain.contains(image)) {
                gone.removeAll(chain(images, digestIn(image)));
            }
        }
        for (Path image : gone) {
            fs.delete(image, false);
        }
    }

    private boolean load() throws IOException {
        if (!fs.exists(folder)) {
            return false;
        }
        List<Path> images = images();
        for (Path image : images) {
            try {
                if (putTogether(chain(images, digestIn(image)))) {
                    Files.writeString(NAME, digestIn(image));
                    tell(fs.getFileStatus(image).getModificationTime());
                    return true;
                }
                System.err.println("the image " + image + " or one that it needs is damaged: it is removed");
                fs.delete(image, false);
            } catch (ChecksumException | BlockMissingException | FileNotFoundException error) {
                // Another replica may come back, with its node.
                System.err.println("HDFS cannot read the image " + image + " or one that it needs: it stays (" + error + ")");
            }
        }
        System.err.println("no image of it can be used: it begins again");
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
        List<Path> chain = loaded();
        leave();
        remove(chain);
    }

    /** What was loaded is of no use here, and nothing that is saved here goes on from it. */
    private void leave() throws IOException {
        spec.beginsAgain(fs, container);
        Files.delete(NAME);
    }

    private List<Path> loaded() throws IOException {
        return Files.exists(NAME) ? chain(images(), Files.readString(NAME)) : List.of();
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

    /** The image with this SHA-256 and those that it needs, up to a whole one, or before one that is missing. */
    private static List<Path> chain(List<Path> images, String digest) {
        List<Path> chain = new ArrayList<>();
        for (String wanted = digest; wanted != null; ) {
            String end = "-" + wanted;
            Optional<Path> link = images.stream().filter(path -> path.getName().endsWith(end)).findFirst();
            if (link.isEmpty() || chain.size() == MOST_LINKS) {
                return chain;
            }
            chain.add(link.get());
            wanted = parentOf(link.get());
        }
        return chain;
    }

    private static boolean isWhole(List<Path> chain) {
        return !chain.isEmpty() && parentOf(chain.get(chain.size() - 1)) == null;
    }

    /** The SHA-256 of the image that this one needs, or null. */
    private static String parentOf(Path image) {
        String[] words = image.getName().split("-");
        return words.length > 3 ? words[1] : null;
    }

    /** Bring a chain as one file; false when that is not what was saved. */
    private boolean putTogether(List<Path> chain) throws IOException {
        for (int link = chain.size() - 1; link >= 0 && isWhole(chain); link--) {
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
        return isWhole(chain);
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
