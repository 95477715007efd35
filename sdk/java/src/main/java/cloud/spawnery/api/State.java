// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

/** What a server is for players. */
public enum State {
    /** The game does not accept players yet. */
    STARTING("Starting"),
    /** The game accepts players. */
    READY("Ready"),
    /** The game was asked, and did not answer. */
    NOT_ANSWERING("NotAnswering"),
    /** The game is saving and going away. */
    STOPPING("Stopping"),
    /** A state that a newer agent knows and this version does not. */
    UNKNOWN("");

    private final String word;

    State(String word) {
        this.word = word;
    }

    static State of(String word) {
        for (State one : values()) {
            if (one.word.equals(word)) {
                return one;
            }
        }
        return UNKNOWN;
    }
}
