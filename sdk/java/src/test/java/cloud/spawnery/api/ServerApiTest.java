// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Against "agent serve --local" of 24 slots, at the address in the property spawnery.api. */
@Timeout(60)
class ServerApiTest {
    private final ServerApi api = Spawnery.api();

    @BeforeEach
    void begin() {
        api.resetPlayableSlots().join();
        api.joins(Joins.OPEN).join();
        api.boosts().join().forEach(boost -> api.endBoost(boost.name()).join());
    }

    @Test
    void aServerTellsWhatItIs() {
        Self self = api.self().join();
        assertEquals("lobby", self.group());
        assertEquals("lobby", self.displayName());
        assertEquals(State.READY, self.state());
        assertEquals(24, self.slots());
        assertEquals(24, self.playableSlots());
        assertEquals(Joins.OPEN, self.joins());
        assertEquals(OptionalInt.of(0), self.players());
        assertEquals(OptionalInt.empty(), self.ordinal());
        assertEquals(OptionalInt.empty(), self.wishedPlayableSlots());
    }

    @Test
    void aFigureHoldsUntilItIsTakenBack() {
        Self twelve = api.playableSlots(12).join();
        assertEquals(12, twelve.playableSlots());
        assertEquals(OptionalInt.of(12), twelve.wishedPlayableSlots());
        assertEquals(24, api.playableSlots(100).join().playableSlots());
        assertEquals(24, api.resetPlayableSlots().join().playableSlots());
    }

    @Test
    void theDoorClosesAndOpens() {
        assertEquals(Joins.CLOSED, api.joins(Joins.CLOSED).join().joins());
        assertEquals(Joins.OPEN, api.joins(Joins.OPEN).join().joins());
    }

    @Test
    void whoIsOnlineIsCounted() {
        UUID ada = UUID.fromString("069a79f4-44e9-4726-a5be-fca90e38aaf5");
        UUID ben = UUID.fromString("853c80ef-3c37-49fd-aa49-938b674adae6");
        assertEquals(OptionalInt.of(2), api.online(Map.of(ada, "Ada", ben, "Ben \"the second\"")).join().players());
        assertEquals(OptionalInt.of(0), api.online(Map.of()).join().players());
    }

    @Test
    void aRoundEndsOnceAndAnOpenDoorTakesItBack() {
        assertFalse(api.self().join().roundEnded());
        for (int times = 0; times < 2; times++) {
            Self ended = api.endRound().join();
            assertTrue(ended.roundEnded());
            assertEquals(Joins.CLOSED, ended.joins());
        }
        assertFalse(api.joins(Joins.OPEN).join().roundEnded());
    }

    @Test
    void aRefusalSaysWhatWouldBeRight() {
        CompletionException refused =
                assertThrows(CompletionException.class, () -> api.playableSlots(0).join());
        assertTrue(refused.getCause() instanceof SpawneryException, refused.toString());
        assertTrue(refused.getCause().getMessage().contains("has to be at least 1"), refused.getMessage());
    }

    @Test
    void anAgentThatIsAwayIsAnError() {
        ServerApi nowhere = new HttpServerApi(URI.create("http://127.0.0.1:1"));
        CompletionException failed =
                assertThrows(CompletionException.class, () -> nowhere.self().join());
        assertTrue(failed.getCause().getMessage().contains("does not answer"), failed.getMessage());
    }

    @Test
    void changesAreToldUntilTheSubscriptionIsClosed() throws InterruptedException {
        BlockingQueue<Self> told = new LinkedBlockingQueue<>();
        ServerApi.Subscription subscription = api.onChange(self -> {
            told.add(self);
            if (self.playableSlots() == 7) {
                throw new IllegalStateException("a listener that throws ends nothing");
            }
        });
        assertEquals(24, next(told).playableSlots());
        api.playableSlots(7).join();
        assertEquals(7, next(told).playableSlots());
        api.playableSlots(8).join();
        assertEquals(8, next(told).playableSlots());
        subscription.close();
        api.playableSlots(9).join();
        assertFalse(told.stream().anyMatch(self -> self.playableSlots() == 9));
    }

    @Test
    void theNetworkHoldsThisServerAndOthers() {
        Network network = api.network().join();
        Self self = api.self().join();
        Network.Server own = network.servers().stream().filter(server -> server.name().equals(self.server())).findFirst().orElseThrow();
        assertEquals(new Network.Server(self.server(), "lobby", "lobby", "Ready", Joins.OPEN, OptionalInt.of(0), 24, 24), own);
        assertEquals(2, network.servers().size());
        assertEquals(new Network.Group("arena", "arena", 0, 16), network.groups().get(1));
        assertEquals(List.of(new Network.Proxies("front", 1, 0)), network.proxies());
        assertEquals(0, network.players());
    }

    @Test
    void changesOfTheNetworkAreTold() throws InterruptedException {
        BlockingQueue<Network> told = new LinkedBlockingQueue<>();
        try (ServerApi.Subscription subscription = api.onNetworkChange(told::add)) {
            assertEquals(24, next(told).groups().get(0).freeSeats());
            api.joins(Joins.CLOSED).join();
            assertEquals(0, next(told).groups().get(0).freeSeats());
            assertTrue(subscription != null);
        }
    }

    @Test
    void aBoostLastsUntilItIsEnded() {
        Instant before = Instant.now();
        Boost two = api.addBoost(2, Duration.ofHours(2)).join();
        assertEquals(2, two.replicas());
        assertFalse(two.expiresAt().isBefore(before.plus(Duration.ofMinutes(119))));
        Boost one = api.addBoost(1, Duration.ZERO).join();
        assertFalse(one.expiresAt().isAfter(Instant.now().plus(Duration.ofHours(1))));
        assertEquals(List.of(two, one), api.boosts().join());
        assertEquals(List.of(one), api.endBoost(two.name()).join());
    }

    @Test
    void aBoostHasBounds() {
        wantRefused("maxReplicas of lobby is 8", () -> api.addBoost(8, Duration.ZERO).join());
        wantRefused("at most seven days", () -> api.addBoost(1, Duration.ofDays(8)).join());
        wantRefused("at least a second and at most seven days, and PT0.999S", () -> api.addBoost(1, Duration.ofMillis(999)).join());
        wantRefused("at least a second", () -> api.addBoost(1, Duration.ofHours(-1)).join());
        wantRefused("has made no boost \"of/nobody\"", () -> api.endBoost("of/nobody").join());
    }

    @Test
    void aRefusalHasItsStatus() {
        assertEquals(409, statusOf(() -> api.addBoost(8, Duration.ZERO).join()));
        assertEquals(404, statusOf(() -> api.endBoost("friday").join()));
        assertEquals(400, statusOf(() -> api.playableSlots(0).join()));
        ServerApi nobody = new HttpServerApi(URI.create("http://127.0.0.1:1"));
        assertEquals(0, statusOf(() -> nobody.self().join()));
    }

    @Test
    void anAddressIsAUrl() {
        assertEquals(URI.create("http://localhost:9358"), Spawnery.address("http://localhost:9358"));
        for (String wrong : List.of("127.0.0.1:9358", "localhost:9358", "", "http://")) {
            IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> Spawnery.address(wrong));
            assertTrue(refused.getMessage().endsWith("has to be a URL such as http://127.0.0.1:9358"), refused.getMessage());
        }
    }

    @Test
    void aPlayerIsSentElsewhere() {
        api.connect("Ada", "arena").join();
        api.connect(UUID.randomUUID(), "arena-k3q9").join();
        wantRefused("there is no server and no group \"sky\\\"wars\\n\"", () -> api.connect("Ada", "sky\"wars\n").join());
    }

    @Test
    void aServerRetires() {
        assertEquals("lobby", api.retire().join().group());
    }

    private static int statusOf(Executable asks) {
        return ((SpawneryException) assertThrows(CompletionException.class, asks).getCause()).status();
    }

    private static void wantRefused(String says, Executable asks) {
        CompletionException refused = assertThrows(CompletionException.class, asks);
        assertTrue(refused.getCause().getMessage().contains(says), refused.getMessage());
    }

    private static <T> T next(BlockingQueue<T> told) throws InterruptedException {
        T one = told.poll(30, TimeUnit.SECONDS);
        assertTrue(one != null, "nothing was told");
        return one;
    }
}
