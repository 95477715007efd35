// SPDX-License-Identifier: Apache-2.0

package org.bukkit.plugin.java;

import java.util.logging.Logger;

/**
 * The few signatures of Paper's class that the example uses, so that it compiles
 * where Paper's API cannot be had. Nothing of this is ever shipped: on a server
 * the real class is there.
 */
public abstract class JavaPlugin {
    private final Logger logger = Logger.getLogger(getClass().getName());

    /** Called when the server has loaded its worlds. */
    public void onEnable() {}

    /** Called before the server stops. */
    public void onDisable() {}

    /** Where the plugin logs. */
    public Logger getLogger() {
        return logger;
    }
}
