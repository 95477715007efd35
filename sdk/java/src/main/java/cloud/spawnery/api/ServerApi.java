// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * What a plugin may know and set about its server, and ask about its network.
 *
 * <p>No method waits: each returns a future at once, and its stages run on
 * threads of the HTTP client. Go back to the server's own thread before the
 * game is touched. A future fails with a {@link SpawneryException} when the
 * agent refused, or could not be reached within 10 seconds.
 *
 * <p>What is set here ends with the game: the next one begins with what its
 * group says.
 */
public interface ServerApi {
    /**
     * Asks for the server as its agent sees it.
     *
     * @return the server as of now
     */
    CompletableFuture<Self> self();

    /**
     * Sets how many of this server's seats count as capacity, in place of the
     * group's playableSlots. Nobody is kicked by a lower figure.
     *
     * @param seats at least 1; more than the server's slots counts as all of them
     * @return the server with that figure in force
     */
    CompletableFuture<Self> playableSlots(int seats);

    /**
     * Takes that figure back: the group's holds again.
     *
     * @return the server with the group's figure in force
     */
    CompletableFuture<Self> resetPlayableSlots();

    /**
     * Opens or closes the server for those who did not ask for it by name. While
     * it is closed its empty seats are no capacity, and the group orders another
     * server for whoever comes. Who is here stays. Opening it takes back that the
     * round has ended.
     *
     * @param joins open or closed
     * @return the server with that door
     */
    CompletableFuture<Self> joins(Joins joins);

    /**
     * Says that the round of this server has ended, and that its game is about to
     * exit: the door closes, and the exit with code 0 counts as a finished round,
     * however short the server was ready. It is replaced, and is no failure.
     * Stop the game once the future is done. Calling it again changes nothing;
     * opening the door takes it back.
     *
     * @return the server with its door closed; fails in a persistent group, whose
     *     games are started again in place
     */
    CompletableFuture<Self> endRound();

    /**
     * Says who is online, for a game without the management protocol (before
     * 1.21.9, and games that are not Mojang's): a server list ping names only some
     * of its players. It counts for ten seconds, so call it at every join and
     * leave, and every five seconds.
     *
     * @param players all who are online, the name of each by its id; empty when
     *     nobody is
     * @return the server with that many players; fails where the game has the
     *     management protocol, whose word counts there
     */
    CompletableFuture<Self> online(Map<UUID, String> players);

    /**
     * Tells of the server: at once, and whenever it has changed. Changes in quick
     * succession may be told as one. When the agent restarts the stream is made
     * anew.
     *
     * @param listener is called on a thread of its own, one call at a time; what
     *     it throws is reported to that thread's uncaught exception handler and
     *     ends nothing
     * @return ends the calls when it is closed
     */
    Subscription onChange(Consumer<Self> listener);

    /**
     * Asks for the network this server is part of: its groups, servers and
     * proxies. The agent has it from the manager, so without a manager the
     * future fails.
     *
     * @return the network, at most a second old
     */
    CompletableFuture<Network> network();

    /**
     * Tells of the network: at once, and whenever it has changed, at most once a
     * second. While no manager is there nothing is told; the stream is made anew
     * when there is one.
     *
     * @param listener is called as that of {@link #onChange}
     * @return ends the calls when it is closed
     */
    Subscription onNetworkChange(Consumer<Network> listener);

    /**
     * Asks for more servers of this server's group, for a while: a boost, which
     * raises the group's floor. Each call makes another one. The future fails
     * beyond the group's maxReplicas, in a persistent group, while this server
     * has made three boosts that still last, and without a manager.
     *
     * @param servers how many more, at least 1
     * @param lasts from a second to seven days; zero for the default, an hour
     * @return the boost that was made
     */
    CompletableFuture<Boost> addBoost(int servers, Duration lasts);

    /**
     * Asks for the boosts that this server has made and that still last.
     *
     * @return in the order of their names
     */
    CompletableFuture<List<Boost>> boosts();

    /**
     * Ends a boost that this server has made. The extra servers go when nobody is
     * on them.
     *
     * @param name of the boost
     * @return those that are left; fails when there is no such boost
     */
    CompletableFuture<List<Boost>> endBoost(String name);

    /**
     * Has this server take nobody new, and go once it is empty; its group makes
     * another where one is needed. Who is here stays. It cannot be taken back.
     * The future fails in a persistent group, and until the server has been ready
     * for a minute.
     *
     * @return the server
     */
    CompletableFuture<Self> retire();

    /**
     * Sends a player of this server elsewhere, by the same rules as if they had
     * asked for it themselves. If that does not succeed they stay here, and the
     * future fails with the reason: no such player is here, there is no such
     * server or group, none has a seat, they may not join it.
     *
     * @param player their name
     * @param to name of a Server or a ServerGroup of the network
     * @return done once the player is there
     */
    CompletableFuture<Void> connect(String player, String to);

    /**
     * Sends a player of this server elsewhere, as {@link #connect(String, String)}.
     *
     * @param player their UUID
     * @param to name of a Server or a ServerGroup of the network
     * @return done once the player is there
     */
    CompletableFuture<Void> connect(UUID player, String to);

    /** Something that goes on until it is closed. */
    interface Subscription extends AutoCloseable {
        /** Ends it. One more call may be under way; closing twice does nothing. */
        @Override
        void close();
    }
}
