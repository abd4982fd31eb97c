/** The keys of `kinora dev` on a terminal. */
import { join } from 'node:path'

import { canOpen, openFile, openLink } from '../terminal/open-file.ts'
import { style } from '../terminal/print.ts'
import { readKeys } from '../terminal/read-keys.ts'
import type { Screen } from '../terminal/screen.ts'
import type { Activity } from './activity/show-activity.ts'
import { showPath } from './data-files.ts'
import { createConsoleLink, createKey, makeVideo } from './own-requests.ts'
import type { StatusLines } from './status-lines.ts'

const videosAtOnceMax = 3

interface KeyCommands {
  screen: Screen
  status: StatusLines
  activity: Activity
  url: string
  key: string
  /** Whom the console is opened for. */
  consoleKeys: string[]
  directory: string
  /** Why the data cannot be reset; undefined if it can. */
  resetProblem: string | undefined
  stop: () => void
  reset: () => void
}

/** Reads keys until the returned function is called. */
export const handleKeys = (commands: KeyCommands): (() => void) => {
  const { screen, status, activity, url, key, consoleKeys, directory } = commands
  const ending = new AbortController()
  const service = { url, key, signal: ending.signal }
  let videos = 0
  let isAsking = false

  const say = (sign: 'good' | 'bad' | 'note', text: string) => {
    const signs = { good: style('green', '✓'), bad: style('red', '✗'), note: style('cyan', '→') }
    screen.print(`  ${signs[sign]} ${text}`, '    ')
  }
  const attempt = async (what: string, work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (!ending.signal.aborted) say('bad', `${what}: ${(error as Error).message}`)
    }
  }
  const open = async () => {
    const link = await createConsoleLink(service, consoleKeys)
    const address = link ?? `${url}/`
    if (canOpen() && (await openLink(address))) say('note', `Opened ${address.replace(/#.*/, '')}`)
    else say('note', `Open ${address} in a browser.`)
  }
  const film = async () => {
    if (videos >= videosAtOnceMax) {
      say('note', `${videosAtOnceMax} videos are being made. Wait for one of them.`)
      return
    }
    videos += 1
    const work = status.begin('Making a video')
    try {
      const file = await makeVideo(service, join(directory, 'videos'), work.update)
      say('good', `Saved ${showPath(file)}`)
      if (canOpen()) await openFile(file)
    } finally {
      videos -= 1
      work.end()
    }
  }
  const addKey = async () => {
    const secret = await createKey(service)
    say('good', `New key, shown only now: ${style('bold', secret)}`)
  }
  const showAll = () => {
    const showsAll = activity.toggleAll()
    say('note', showsAll ? 'All logs. Press l for a line per request again.' : 'A line per request again.')
  }
  const ask = () => {
    if (commands.resetProblem !== undefined) return say('note', commands.resetProblem)
    isAsking = true
    const what = `Delete all tasks, media and settings in ${showPath(directory)}? Keys stay. `
    status.setKeys(`  ${style('yellow', '?')} ${what}${style('bold', 'y')}/${style('bold', 'n')}`)
  }
  const table: { key: string; name: string; run: () => void }[] = [
    { key: 'o', name: 'console', run: () => void attempt('Could not open it', open) },
    { key: 'v', name: 'make a video', run: () => void attempt('Could not make a video', film) },
    { key: 'k', name: 'new key', run: () => void attempt('Could not create a key', addKey) },
    { key: 'l', name: 'all logs', run: showAll },
    { key: 'r', name: 'reset', run: ask },
    { key: 'q', name: 'quit', run: commands.stop },
  ]
  const hint = `  ${table.map(({ key: letter, name }) => `${style('bold', letter)} ${style('dim', name)}`).join('   ')}`

  const onKey = (letter: string) => {
    if (isAsking) {
      isAsking = false
      status.setKeys(hint)
      if (letter.toLowerCase() === 'y') commands.reset()
      else say('note', 'Nothing was deleted.')
      return
    }
    table.find((each) => each.key === letter.toLowerCase())?.run()
  }
  const stopReading = readKeys({ onKey, onStop: commands.stop })
  if (stopReading !== undefined) status.setKeys(hint)
  return () => {
    ending.abort()
    stopReading?.()
    status.setKeys(undefined)
  }
}
