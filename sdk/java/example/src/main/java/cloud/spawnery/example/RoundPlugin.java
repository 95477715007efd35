// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.example;

import cloud.spawnery.api.Joins;
import cloud.spawnery.api.Self;
import cloud.spawnery.api.Spawnery;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.bukkit.plugin.java.JavaPlugin;

/**
 * A game of rounds: so many players take part, and while a round runs nobody is
 * sent here. Whoever asks for this very server still arrives, to watch.
 */
public final class RoundPlugin extends JavaPlugin {
    /** How many take part; the server's own limit may be higher. */
    static final int PLAYERS = Integer.getInteger("round.players", 12);

    @Override
    public void onEnable() {
        logOutcome("this server plays rounds of " + PLAYERS, Spawnery.api().playableSlots(PLAYERS));
    }

    /** Call it when the countdown is over. */
    public void roundBegins() {
        logOutcome("nobody is sent here while the round runs", Spawnery.api().joins(Joins.CLOSED));
    }

    /** Call it when the round is over. */
    public void roundEnds() {
        logOutcome("players may come again", Spawnery.api().joins(Joins.OPEN));
    }

    /** Call it when the last round of this server is over; then is the time to stop the game. */
    public void lastRoundEnds(Runnable then) {
        Spawnery.api().endRound().whenComplete((self, failure) -> {
            if (failure != null) {
                getLogger().warning(reason(failure));
            }
            then.run();
        });
    }

    /** A stage that fails is told what failed before it wrapped into something of the JDK's. */
    private static String reason(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause().getMessage() : failure.getMessage();
    }

    /** Off the server's own thread: nothing here waits, and nothing touches the game. */
    private void logOutcome(String done, CompletableFuture<Self> outcome) {
        outcome.whenComplete((self, failure) -> {
            if (failure != null) {
                getLogger().warning(reason(failure));
                return;
            }
            getLogger().info(done + "; free for players: " + self.playableSlots() + " of " + self.slots());
        });
    }
}
