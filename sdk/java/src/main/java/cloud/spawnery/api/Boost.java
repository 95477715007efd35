// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import static cloud.spawnery.api.Json.number;
import static cloud.spawnery.api.Json.text;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A ScaleBoost that this server has made: more servers of its group, for a while.
 *
 * @param name name of the ScaleBoost
 * @param replicas by how many servers it raises the floor of the group
 * @param expiresAt when it ends by itself
 */
public record Boost(String name, int replicas, Instant expiresAt) {
    static Boost of(String json) {
        return of(Json.object(json));
    }

    static List<Boost> listOf(String json) {
        return Json.list(Json.object(json), "boosts", Boost::of);
    }

    private static Boost of(Map<?, ?> all) {
        String expiresAt = text(all, "expiresAt");
        try {
            return new Boost(text(all, "name"), number(all, "replicas").orElse(0), Instant.parse(expiresAt));
        } catch (DateTimeException e) {
            throw new SpawneryException("the agent says a boost ends at \"" + expiresAt + "\", which is no time", e);
        }
    }
}
