package fawkes.load;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** What a client asks for: lines of key=value; amounts that are not given are 0. */
final class Request {
    private final Properties values = new Properties();

    Request(Path file) throws IOException {
        try (Reader reader = Files.newBufferedReader(file)) {
            values.load(reader);
        }
    }

    String text(String key) throws IOException {
        String value = values.getProperty(key);
        if (value == null) {
            throw new IOException("the request does not say: " + key);
        }
        return value;
    }

    long amount(String key) throws IOException {
        String value = values.getProperty(key, "0");
        try {
            long number = Long.parseLong(value);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException error) {
            throw new IOException(key + " = " + value + " is no number", error);
        }
        throw new IOException(key + " = " + value + " is negative");
    }

    int count(String key) throws IOException {
        return Math.toIntExact(amount(key));
    }
}
