package fawkes.tasks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A time in which this job asks for no containers, because one of a higher priority waits for room.
 *
 * <p>YARN gives room on a node first to the application that reserved it, whatever its priority. The claim writes the
 * priority and the end of the time, in seconds since 1970, beside the folder of the container.
 */
final class Hold {
    private static final Path FILE = Path.of("..", "fawkes-hold");

    private final int priority;

    Hold(int priority) {
        this.priority = priority;
    }

    /** True until the time is over; false where nothing can be read. */
    boolean now() {
        try {
            String[] words = Files.readString(FILE).strip().split(" ");
            return Integer.parseInt(words[0]) > priority && Long.parseLong(words[1]) > System.currentTimeMillis() / 1000;
        } catch (IOException | RuntimeException none) {
            return false;
        }
    }
}
