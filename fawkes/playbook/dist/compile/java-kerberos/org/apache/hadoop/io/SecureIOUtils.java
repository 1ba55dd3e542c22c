package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * In the place of Hadoop's class of this name: that one does not start without native code, and compares Unix owners.
 * Here all tasks and daemons of an MR-cluster have one Unix user, so there is nothing to compare.
 */
public class SecureIOUtils {
    public static RandomAccessFile openForRandomRead(File file, String mode, String owner, String group) throws IOException {
        return new RandomAccessFile(file, mode);
    }

    public static FSDataInputStream openFSDataInputStream(File file, String owner, String group) throws IOException {
        return FileSystem.getLocal(new Configuration()).getRaw().open(new Path(file.getAbsolutePath()));
    }

    public static FileInputStream openForRead(File file, String owner, String group) throws IOException {
        return new FileInputStream(file);
    }

    public static FileOutputStream createForWrite(File file, int permissions) throws IOException {
        Set<PosixFilePermission> granted = EnumSet.noneOf(PosixFilePermission.class);
        PosixFilePermission[] all = PosixFilePermission.values();
        for (int bit = 0; bit < all.length; bit++) {
            if ((permissions >> (all.length - 1 - bit) & 1) == 1) {
                granted.add(all[bit]);
            }
        }
        try {
            Files.createFile(file.toPath(), PosixFilePermissions.asFileAttribute(granted));
        } catch (FileAlreadyExistsException error) {
            throw new AlreadyExistsException(error);
        }
        return new FileOutputStream(file);
    }

    /** A file that was to be made is there. */
    public static class AlreadyExistsException extends IOException {
        private static final long serialVersionUID = 1L;

        public AlreadyExistsException(String message) {
            super(message);
        }

        public AlreadyExistsException(Throwable cause) {
            super(cause);
        }
    }
}
