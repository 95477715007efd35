// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

/** Nothing was changed; the message says what is wrong, and what would be right. */
public final class SpawneryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Of HTTP. */
    private final int status;

    SpawneryException(String message) {
        this(0, message);
    }

    SpawneryException(int status, String message) {
        super(message);
        this.status = status;
    }

    SpawneryException(String message, Throwable cause) {
        super(message, cause);
        this.status = 0;
    }

    /**
     * The status of HTTP that the refusal had, to tell apart what may succeed
     * later from what will not: 503, while no manager is connected, and 429, for
     * asking too often, from 409, for what is not granted.
     *
     * @return as in the description of the API; 0 when the agent did not
     *     answer, or nothing that this version can read
     */
    public int status() {
        return status;
    }
}
