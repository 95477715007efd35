// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The API over the HTTP client of the JDK. */
final class HttpServerApi implements ServerApi {
    /** How long the agent may take to answer. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final URI agent;
    private final HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build();

    HttpServerApi(URI agent) {
        this.agent = agent;
    }

    @Override
    public CompletableFuture<Self> self() {
        return ask("GET", "/v1/self", null);
    }

    @Override
    public CompletableFuture<Self> playableSlots(int seats) {
        return ask("PUT", "/v1/playable-slots", "{\"playableSlots\": " + seats + "}");
    }

    @Override
    public CompletableFuture<Self> resetPlayableSlots() {
        return ask("DELETE", "/v1/playable-slots", null);
    }

    @Override
    public CompletableFuture<Self> joins(Joins joins) {
        return ask("PUT", "/v1/joins", "{\"joins\": \"" + joins.word() + "\"}");
    }

    @Override
    public CompletableFuture<Self> endRound() {
        return ask("POST", "/v1/round/end", null);
    }

    @Override
    public CompletableFuture<Self> online(Map<UUID, String> players) {
        String people = players.entrySet().stream()
                .map(one -> "{\"uuid\": " + Json.quoted(one.getKey().toString()) + ", \"name\": " + Json.quoted(one.getValue()) + "}")
                .collect(Collectors.joining(", "));
        return ask("PUT", "/v1/players", "{\"players\": [" + people + "]}");
    }

    @Override
    public Subscription onChange(Consumer<Self> listener) {
        return new Events<>(http, agent.resolve("/v1/events"), Self::of, listener).begin();
    }

    @Override
    public CompletableFuture<Network> network() {
        return ask("GET", "/v1/network", null, Network::of);
    }

    @Override
    public Subscription onNetworkChange(Consumer<Network> listener) {
        return new Events<>(http, agent.resolve("/v1/network/events"), Network::of, listener).begin();
    }

    @Override
    public CompletableFuture<Boost> addBoost(int servers, Duration lasts) {
        if (!lasts.isZero() && lasts.compareTo(Duration.ofSeconds(1)) < 0) {
            return CompletableFuture.failedFuture(new SpawneryException(400,
                    "a boost lasts at least a second and at most seven days, and " + lasts + " was asked for; Duration.ZERO stands for an hour"));
        }
        String time = lasts.isZero() ? "" : ", \"for\": \"" + lasts.toSeconds() + "s\"";
        String body = "{\"replicas\": " + servers + time + "}";
        return ask("POST", "/v1/boosts", body, Boost::of);
    }

    @Override
    public CompletableFuture<List<Boost>> boosts() {
        return ask("GET", "/v1/boosts", null, Boost::listOf);
    }

    @Override
    public CompletableFuture<List<Boost>> endBoost(String name) {
        return ask("DELETE", "/v1/boosts/" + URLEncoder.encode(name, StandardCharsets.UTF_8), null, Boost::listOf);
    }

    @Override
    public CompletableFuture<Self> retire() {
        return ask("POST", "/v1/retire", null);
    }

    @Override
    public CompletableFuture<Void> connect(String player, String to) {
        String body = "{\"player\": " + Json.quoted(player) + ", \"to\": " + Json.quoted(to) + "}";
        return ask("POST", "/v1/connect", body, answer -> null);
    }

    @Override
    public CompletableFuture<Void> connect(UUID player, String to) {
        return connect(player.toString(), to);
    }

    private CompletableFuture<Self> ask(String method, String path, String body) {
        return ask(method, path, body, Self::of);
    }

    private <T> CompletableFuture<T> ask(String method, String path, String body, Function<String, T> read) {
        HttpRequest request = HttpRequest.newBuilder(agent.resolve(path))
                .timeout(PATIENCE)
                .header("Content-Type", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .build();
        return http.sendAsync(request, BodyHandlers.ofString())
                .handle((response, failure) -> {
                    if (failure != null) {
                        throw new SpawneryException(
                                "the agent at " + agent + " does not answer; does this server run in a pod of Spawnery's?", cause(failure));
                    }
                    return answered(response, read);
                });
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    private static <T> T answered(HttpResponse<String> response, Function<String, T> read) {
        if (response.statusCode() == 200) {
            return read.apply(response.body());
        }
        Map<String, Object> failure = Json.object(response.body());
        throw new SpawneryException(response.statusCode(), String.valueOf(failure.get("error")));
    }
}
