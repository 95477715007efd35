// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import static cloud.spawnery.api.Json.list;
import static cloud.spawnery.api.Json.number;
import static cloud.spawnery.api.Json.text;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * The network that a server is part of, as the manager tells it.
 *
 * @param players players on the network's proxies
 * @param groups the server groups, those without a server included
 * @param servers those that players were sent to at any time and that are not gone, by name
 * @param proxies the proxy groups that have a proxy connected
 */
public record Network(int players, List<Group> groups, List<Server> servers, List<Proxies> proxies) {
    /**
     * A ServerGroup.
     *
     * @param name name of the ServerGroup
     * @param displayName what players read instead of the name
     * @param players players on its servers, as far as they are known
     * @param freeSeats playable seats somebody could be sent to now
     */
    public record Group(String name, String displayName, int players, int freeSeats) {
        static Group of(Map<?, ?> all) {
            return new Group(
                    text(all, "name"), text(all, "displayName"), number(all, "players").orElse(0), number(all, "freeSeats").orElse(0));
        }
    }

    /**
     * A server.
     *
     * @param name name of the Server
     * @param group name of its ServerGroup
     * @param displayName what players read instead of the group's name
     * @param state the phase of the Server, such as Ready, Retiring or Draining
     * @param joins whether players are sent there
     * @param players players on it; empty while unknown
     * @param slots the limit of the server
     * @param freeSeats playable seats somebody could be sent to now; 0 behind a closed door
     */
    public record Server(
            String name,
            String group,
            String displayName,
            String state,
            Joins joins,
            OptionalInt players,
            int slots,
            int freeSeats) {
        static Server of(Map<?, ?> all) {
            return new Server(
                    text(all, "name"),
                    text(all, "group"),
                    text(all, "displayName"),
                    text(all, "state"),
                    Joins.of(text(all, "joins")),
                    number(all, "players"),
                    number(all, "slots").orElse(0),
                    number(all, "freeSeats").orElse(0));
        }
    }

    /**
     * The connected proxies of a ProxyGroup.
     *
     * @param group name of the ProxyGroup
     * @param proxies how many of its proxies are connected to the manager
     * @param players players on them
     */
    public record Proxies(String group, int proxies, int players) {
        static Proxies of(Map<?, ?> all) {
            return new Proxies(text(all, "group"), number(all, "proxies").orElse(0), number(all, "players").orElse(0));
        }
    }

    static Network of(String json) {
        Map<String, Object> all = Json.object(json);
        return new Network(
                number(all, "players").orElse(0),
                list(all, "groups", Group::of),
                list(all, "servers", Server::of),
                list(all, "proxies", Proxies::of));
    }
}
