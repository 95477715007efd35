// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** Reads the stream of one listener, and makes it anew when it ends. */
final class Events<T> implements ServerApi.Subscription {
    private static final long RETRY_MILLIS = 1000;

    private final HttpClient http;
    private final HttpRequest request;
    private final Function<String, T> read;
    private final Consumer<T> listener;
    private final Thread reader;
    private volatile boolean closed;

    Events(HttpClient http, URI stream, Function<String, T> read, Consumer<T> listener) {
        this.http = http;
        this.request = HttpRequest.newBuilder(stream).build();
        this.read = read;
        this.listener = listener;
        this.reader = new Thread(this::run, "spawnery-events");
        reader.setDaemon(true);
    }

    Events<T> begin() {
        reader.start();
        return this;
    }

    @Override
    public void close() {
        closed = true;
        reader.interrupt();
    }

    private void run() {
        while (!closed) {
            try {
                read();
                Thread.sleep(RETRY_MILLIS);
            } catch (InterruptedException e) {
                // Only close interrupts this thread; the loop sees it.
            }
        }
    }

    private void read() throws InterruptedException {
        try {
            HttpResponse<Stream<String>> response = http.send(request, BodyHandlers.ofLines());
            try (Stream<String> lines = response.body()) {
                lines.takeWhile(line -> !closed).filter(line -> line.startsWith("data: ")).forEach(line -> tell(line.substring(6)));
            }
        } catch (java.io.IOException | java.io.UncheckedIOException e) {
            // The agent is away; the next attempt sees whether it is back.
        }
    }

    private void tell(String data) {
        try {
            listener.accept(read.apply(data));
        } catch (RuntimeException e) {
            reader.getUncaughtExceptionHandler().uncaughtException(reader, e);
        }
    }
}
