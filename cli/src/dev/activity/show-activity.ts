/** Shows what the service does: a line for each request, task and problem, or all lines of the logs. */
import { join } from 'node:path'
import { styleText } from 'node:util'

import { readableLine } from '@kinora/gateway/readable-log'

import type { Screen } from '../../terminal/screen.ts'
import { toEventLine, type EventLine, type LineContext } from './event-lines.ts'
import { followLog } from './follow-log.ts'
import { formatHeld, formatLine } from './format-line.ts'
import { createLineLimit } from './limit-lines.ts'

const readEveryMs = 200
const roles = ['api', 'worker', 'local'] as const
/** Their logs are text in formats of their own. They are only shown with all logs. */
const servers = ['postgres', 'restate'] as const

export interface Activity {
  /** Switches between the lines of `kinora dev` and all logs, and returns whether all are shown now. */
  toggleAll: () => boolean
  stop: () => void
}

interface ActivityOptions extends LineContext {
  /** The directory of the logs; `logDirectory` is what a hint calls it. */
  directory: string
  screen: Screen
  isColored: boolean
}

export const showActivity = ({ directory, screen, isColored, ...context }: ActivityOptions): Activity => {
  const limit = createLineLimit<EventLine>()
  let showsAll = false

  const format = () => ({ at: new Date(), columns: screen.columns(), isColored })
  const showJson = (json: string) => {
    if (showsAll) {
      screen.print(readableLine(json).trimEnd(), '    ')
      return
    }
    const line = toEventLine(json, context)
    if (line !== undefined && limit.accept(line, performance.now())) screen.print(formatLine(line, format()))
  }
  const showText = (server: string, text: string) => {
    if (!showsAll) return
    const name = isColored ? styleText('dim', server, { validateStream: false }) : server
    screen.print(`${name} ${readableLine(text).trimEnd()}`, '    ')
  }
  const logs = [
    ...roles.map((role) => followLog(join(directory, `${role}.log`), showJson)),
    ...servers.map((server) => followLog(join(directory, `${server}.log`), (text) => showText(server, text))),
  ]
  const read = () => {
    for (const log of logs) log.read()
    for (const held of limit.takeHeld(performance.now())) {
      if (!showsAll) screen.print(formatHeld(held, format()))
    }
  }
  const timer = setInterval(read, readEveryMs)
  return {
    toggleAll() {
      showsAll = !showsAll
      return showsAll
    },
    stop() {
      clearInterval(timer)
      read()
    },
  }
}
