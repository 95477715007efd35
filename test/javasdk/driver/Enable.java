// SPDX-License-Identifier: Apache-2.0

import cloud.spawnery.api.Spawnery;
import cloud.spawnery.example.RoundPlugin;

/** Enables the example as a server would, and ends once its figure is in force. */
public final class Enable {
    private Enable() {}

    /** Takes no arguments; the property round.players is the figure. */
    public static void main(String[] args) throws InterruptedException {
        new RoundPlugin().onEnable();
        int wanted = Integer.getInteger("round.players");
        while (Spawnery.api().self().join().wishedPlayableSlots().orElse(0) != wanted) {
            Thread.sleep(50);
        }
    }
}
