// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

/** Whether players are sent to a server. */
public enum Joins {
    /** Whoever chooses the group may be sent here. */
    OPEN("Open"),
    /** Nobody is sent here who did not ask for this very server. */
    CLOSED("Closed");

    private final String word;

    Joins(String word) {
        this.word = word;
    }

    String word() {
        return word;
    }

    static Joins of(String word) {
        for (Joins one : values()) {
            if (one.word.equals(word)) {
                return one;
            }
        }
        throw new SpawneryException("the agent says joins are \"" + word + "\", which this version does not know");
    }
}
