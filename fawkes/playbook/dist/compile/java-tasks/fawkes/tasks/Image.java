package fawkes.tasks;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Comparator;
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
 * <p>The name of an image has its size and its SHA-256. Exit code 3: there is none. What HDFS does not say is an error.
 */
public final class Image {
    private static final int NONE = 3;
    private static final int PIECE = 1 << 16;
    private static final String FILE = "fawkes-image";
    private static final java.nio.file.Path NAME = Paths.get("fawkes-image.name");

    private final FileSystem fs;
    private final Configuration conf;
    private final Path folder;

    private Image(Configuration conf) throws IOException {
        this.conf = conf;
        this.fs = FileSystem.get(conf);
        int index = Integer.parseInt(System.getenv("FAWKES_TASK_INDEX"));
        this.folder = fs.makeQualified(new Spec(conf).saved(index));
    }

    public static void main(String[] args) throws IOException {
        Image image = new Image(Spec.inContainer());
        if (args[0].equals("save")) {
            image.save();
        } else if (args[0].equals("drop")) {
            image.drop();
        } else if (!image.load()) {
            System.exit(NONE);
        }
    }

    /** A new image is visible only when it is whole; older ones go afterwards. */
    private void save() throws IOException {
        String container = System.getenv(ApplicationConstants.Environment.CONTAINER_ID.name());
        Path own = new Path(folder, "_" + container);
        MessageDigest digest = sha256();
        long size = Files.size(Paths.get(FILE));
        try (InputStream in = new DigestInputStream(Files.newInputStream(Paths.get(FILE)), digest);
                OutputStream out = fs.create(own, true)) {
            copy(in, out);
        }
        Path whole = new Path(folder, container + "-" + size + "-" + hex(digest));
        FileContext.getFileContext(fs.getUri(), conf).rename(own, whole, Options.Rename.OVERWRITE);
        for (FileStatus other : fs.listStatus(folder)) {
            if (!other.getPath().equals(whole)) {
                fs.delete(other.getPath(), false);
            }
        }
    }

    private boolean load() throws IOException {
        if (!fs.exists(folder)) {
            return false;
        }
        FileStatus[] images = fs.listStatus(folder, path -> !path.getName().startsWith("_"));
        Arrays.sort(images, Comparator.comparingLong(FileStatus::getModificationTime).reversed());
        for (FileStatus image : images) {
            MessageDigest digest = sha256();
            try (InputStream in = new DigestInputStream(fs.open(image.getPath()), digest);
                    OutputStream out = Files.newOutputStream(Paths.get(FILE))) {
                copy(in, out);
            }
            if (image.getPath().getName().endsWith("-" + image.getLen() + "-" + hex(digest))) {
                Files.writeString(NAME, image.getPath().getName());
                return true;
            }
            System.err.println("the image " + image.getPath() + " is damaged, and is removed");
            fs.delete(image.getPath(), false);
        }
        return false;
    }

    /** The image that was loaded goes: it is whole, and of no use to anybody. */
    private void drop() throws IOException {
        fs.delete(new Path(folder, Files.readString(NAME)), false);
    }

    private static void copy(InputStream in, OutputStream out) throws IOException {
        byte[] piece = new byte[PIECE];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            out.write(piece, 0, count);
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String hex(MessageDigest digest) {
        StringBuilder text = new StringBuilder();
        for (byte part : digest.digest()) {
            text.append(String.format("%02x", part));
        }
        return text.toString();
    }
}
