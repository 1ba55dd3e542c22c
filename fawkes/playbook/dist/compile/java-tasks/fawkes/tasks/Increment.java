package fawkes.tasks;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.zip.CRC32;

/** A file as what it has beyond an earlier one, its base: its size and SHA-256, then places of the base, and new bytes. */
final class Increment {
    /** What is in archives of tar begins at multiples of this. */
    private static final int SECTOR = 512;

    private static final int PAGE = 4096;
    private static final int PIECE = 1 << 16;
    /** More pages of a base take too much memory: then only some of them are found at another place. */
    private static final int MOST_PAGES = 1 << 20;

    private static final long NEW = -1;

    private final FileChannel base;
    private final FileChannel whole;
    private final DataOutputStream out;
    private final ByteArrayOutputStream fresh = new ByteArrayOutputStream();
    private final long[] pages;
    private long written;
    private long from = NEW;
    private long length;

    private Increment(FileChannel base, FileChannel whole, DataOutputStream out) throws IOException {
        this.base = base;
        this.whole = whole;
        this.out = out;
        this.pages = pages();
    }

    /** Write the increment of a file with this SHA-256; false when it would have more than half of its bytes. */
    static boolean write(Path base, Path whole, String digest, Path into) throws IOException {
        try (FileChannel old = FileChannel.open(base);
                FileChannel now = FileChannel.open(whole);
                DataOutputStream out = new DataOutputStream(Files.newOutputStream(into))) {
            out.writeLong(now.size());
            out.writeUTF(digest);
            return new Increment(old, now, out).compare();
        }
    }

    /** Write the file of an increment again; the SHA-256 that it must have. */
    static String apply(Path base, Path increment, Path into) throws IOException {
        try (FileChannel old = FileChannel.open(base);
                InputStream file = Files.newInputStream(increment);
                DataInputStream in = new DataInputStream(file);
                FileChannel out = FileChannel.open(into, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            long size = in.readLong();
            String digest = in.readUTF();
            while (out.position() < size) {
                long from = in.readLong();
                long length = in.readLong();
                if (from == NEW) {
                    out.write(ByteBuffer.wrap(in.readNBytes((int) length)));
                }
                for (long done = 0, count = 1; from != NEW && done < length; done += count) {
                    count = old.transferTo(from + done, length - done, out);
                    if (count <= 0) {
                        throw new EOFException("the base of an increment is too short");
                    }
                }
            }
            return digest;
        }
    }

    /** What did not move is compared in place; what did is found by its pages. */
    private boolean compare() throws IOException {
        byte[] ours = new byte[PIECE];
        byte[] theirs = new byte[PIECE];
        long shift = 0;
        long size = whole.size();
        for (long at = 0; at < size && written <= size / 2; ) {
            int count = read(whole, at, ours);
            int known = read(base, at + shift, theirs);
            int place = 0;
            // A page that does not end in this piece is looked for in the next one.
            while (place < count && (place == 0 || place + PAGE <= count || at + count == size)) {
                int step = Math.min(SECTOR, count - place);
                if (place + step <= known && Arrays.equals(ours, place, place + step, theirs, place, place + step)) {
                    put(at + place + shift, ours, place, step);
                } else {
                    long found = place + PAGE <= count ? find(ours, place) : NEW;
                    if (found != NEW) {
                        shift = found - at - place;
                        break;
                    }
                    put(NEW, ours, place, step);
                }
                place += step;
            }
            at += place;
        }
        flush();
        return written <= size / 2;
    }

    /** The pages of the base: the checksum of each before its number, in order. */
    private long[] pages() throws IOException {
        long count = base.size() / PAGE;
        long stride = 1 + count / MOST_PAGES;
        long[] pages = new long[(int) (count / stride)];
        byte[] page = new byte[PAGE];
        for (int number = 0; number < pages.length; number++) {
            read(base, number * stride * PAGE, page);
            pages[number] = checksum(page, 0) << 32 | number * stride;
        }
        Arrays.sort(pages);
        return pages;
    }

    /** The place in the base of the page that begins here, or NEW. */
    private long find(byte[] piece, int place) throws IOException {
        long key = checksum(piece, place) << 32;
        int index = Arrays.binarySearch(pages, key);
        index = index < 0 ? -index - 1 : index;
        if (index == pages.length || pages[index] >> 32 != key >> 32) {
            return NEW;
        }
        byte[] page = new byte[PAGE];
        long found = (pages[index] & 0xffffffffL) * PAGE;
        read(base, found, page);
        return Arrays.equals(page, 0, PAGE, piece, place, place + PAGE) ? found : NEW;
    }

    private void put(long place, byte[] piece, int start, int count) throws IOException {
        boolean goesOn = place == NEW ? from == NEW && length < PIECE : from != NEW && from + length == place;
        if (!goesOn) {
            flush();
            from = place;
        }
        if (place == NEW) {
            fresh.write(piece, start, count);
        }
        length += count;
    }

    private void flush() throws IOException {
        if (length > 0) {
            out.writeLong(from);
            out.writeLong(length);
            fresh.writeTo(out);
            written += 2 * Long.BYTES + fresh.size();
        }
        fresh.reset();
        length = 0;
    }

    private static long checksum(byte[] piece, int place) {
        CRC32 checksum = new CRC32();
        checksum.update(piece, place, PAGE);
        return checksum.getValue();
    }

    /** So many bytes from a place on, or fewer at the end. */
    private static int read(FileChannel file, long place, byte[] into) throws IOException {
        ByteBuffer piece = ByteBuffer.wrap(into);
        while (place >= 0 && piece.hasRemaining() && file.read(piece, place + piece.position()) > 0) {}
        return piece.position();
    }
}
