// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import java.net.URI;

/** The way to the agent that runs beside this server. */
public final class Spawnery {
    /** Where the agent of a pod answers. */
    static final String AGENT = "http://127.0.0.1:9358";

    private static ServerApi api;

    private Spawnery() {}

    /**
     * The API of this server. Nothing is asked of anybody until one of its
     * methods is called, so it may be had before the server has started.
     *
     * <p>The system property {@code spawnery.api} names another address, such as
     * that of {@code agent serve --local} on a plugin author's machine. It is
     * read once.
     *
     * @return always the same object; it may be used from any thread
     * @throws IllegalArgumentException when that property is no URL of HTTP
     */
    public static synchronized ServerApi api() {
        if (api == null) {
            api = new HttpServerApi(address(System.getProperty("spawnery.api", AGENT)));
        }
        return api;
    }

    static URI address(String text) {
        try {
            URI address = URI.create(text);
            if ("http".equals(address.getScheme()) && address.getHost() != null) {
                return address;
            }
        } catch (IllegalArgumentException noAddress) {
            // What follows says more.
        }
        throw new IllegalArgumentException(
                "the system property spawnery.api is \"" + text + "\", and has to be a URL such as " + AGENT);
    }
}
