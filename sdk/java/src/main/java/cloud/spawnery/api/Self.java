// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import static cloud.spawnery.api.Json.number;
import static cloud.spawnery.api.Json.text;

import java.util.Map;
import java.util.OptionalInt;

/**
 * A server as its agent sees it.
 *
 * @param server name of the Server
 * @param group name of its ServerGroup
 * @param displayName what players read instead of the group's name
 * @param ordinal the place in a persistent group; empty in an ephemeral one
 * @param state what the server is for players
 * @param detail one sentence about the state; empty when there is nothing to say
 * @param players who is online, counted by the game's word; empty while unknown
 * @param slots the limit of the server
 * @param playableSlots how many of the slots count as capacity now
 * @param joins whether players are sent here
 * @param wishedPlayableSlots what a plugin set; empty while none did
 * @param roundEnded whether a plugin said that the round of this server has ended
 */
public record Self(
        String server,
        String group,
        String displayName,
        OptionalInt ordinal,
        State state,
        String detail,
        OptionalInt players,
        int slots,
        int playableSlots,
        Joins joins,
        OptionalInt wishedPlayableSlots,
        boolean roundEnded) {

    static Self of(String json) {
        Map<String, Object> all = Json.object(json);
        Object wishes = all.get("wishes");
        return new Self(
                text(all, "server"),
                text(all, "group"),
                text(all, "displayName"),
                number(all, "ordinal"),
                State.of(text(all, "state")),
                text(all, "detail"),
                number(all, "players"),
                number(all, "slots").orElse(0),
                number(all, "playableSlots").orElse(0),
                Joins.of(text(all, "joins")),
                wishes instanceof Map<?, ?> map ? number(map, "playableSlots") : OptionalInt.empty(),
                wishes instanceof Map<?, ?> map && Boolean.TRUE.equals(map.get("roundEnded")));
    }
}
