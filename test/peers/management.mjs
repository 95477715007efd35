// SPDX-License-Identifier: Apache-2.0
//
// A client of the management protocol that is not ours. It prints what it
// sees, one JSON object per line; lines of its input are calls: status,
// players, max, save, kick NAME, unknown, stop, quit.
//
//   node management.mjs HOST:PORT SECRET

import readline from 'node:readline'
import { MinecraftServer, Notifications, WebSocketConnection } from 'mc-server-management'

const [address, secret] = process.argv.slice(2)
const say = (event, more) => console.log(JSON.stringify({ event, ...more }))
const names = players => (players ?? []).map(p => p.name)

let connection
try {
  connection = await WebSocketConnection.connect(`ws://${address}`, secret, { reconnect: false })
} catch (err) {
  say('refused', { message: err.message })
  process.exit()
}
const server = new MinecraftServer(connection)
server.on(Notifications.PLAYER_JOINED, p => say('joined', { username: p.name, uuid: p.id }))
server.on(Notifications.PLAYER_LEFT, p => say('left', { username: p.name, uuid: p.id }))
for (const what of ['SAVING', 'SAVED', 'STOPPING']) {
  server.on(Notifications[`SERVER_${what}`], () => say('notified', { text: what.toLowerCase() }))
}

const calls = {
  status: async () => {
    const status = await server.getStatus(true)
    return { state: status.started ? 'started' : 'starting', names: names(status.players), text: status.version?.name }
  },
  players: async () => ({ names: names(await server.getConnectedPlayers(true)) }),
  max: async () => ({ port: await server.settings().getMaxPlayers() }),
  save: async () => ({ text: String(await server.save()) }),
  kick: async name => ({ names: names(await server.kickPlayers(name)) }),
  stop: async () => ({ text: String(await server.stop()) }),
  unknown: async () => connection.call('minecraft:no/such', [])
}

say('connected')
readline.createInterface({ input: process.stdin }).on('line', async line => {
  const [name, ...args] = line.split(' ')
  if (name === 'quit') process.exit()
  try {
    say(name, await calls[name](...args))
  } catch (err) {
    say(name, { message: `${err.code} ${err.message}` })
  }
})
