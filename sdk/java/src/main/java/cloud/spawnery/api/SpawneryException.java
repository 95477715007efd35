// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

/** Nothing was changed; the message says what is wrong, and what would be right. */
public final class SpawneryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SpawneryException(String message) {
        super(message);
    }

    SpawneryException(String message, Throwable cause) {
        super(message, cause);
    }
}
