/** Characters: their data, usernames, mentions in prompts, and the time span of the video they come from. */
import { randomInt } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'

import type { StoredFile } from '../storage/stored-file-store.ts'

export interface StoredCharacter {
  id: string
  accountId: string
  username: string
  /** Identifies the video and the time span, so that a repeated request finds the same character. */
  source: string
  clipMediaId: string
  portraitMediaId: string
  isPrivate: boolean
}

/** A character whose files are stored, but which is not in the database yet. */
export interface BuiltCharacter extends StoredCharacter {
  files: StoredFile[]
}

const usernameShape = /^[a-z0-9_.]{3,32}$/
export const isUsername = (text: string): boolean => usernameShape.test(text)

/** A time span of a video, in milliseconds from its start. */
export interface Span {
  startMs: number
  endMs: number
}

const spanMs = { least: 1_000, most: 3_000, tolerance: 50 }
export const spanSeconds = { least: spanMs.least / 1000, most: spanMs.most / 1000 }

/** Parses `<start>,<end>` in seconds. Undefined if it is malformed or not one to three seconds long. */
export const parseSpan = (text: string): Span | undefined => {
  const match = /^\s*(\d{1,6}(?:\.\d{1,6})?)\s*,\s*(\d{1,6}(?:\.\d{1,6})?)\s*$/.exec(text)
  if (match === null) return undefined
  const [startMs, endMs] = [Math.round(Number(match[1]) * 1000), Math.round(Number(match[2]) * 1000)]
  const lengthMs = endMs - startMs
  const isFit = lengthMs >= spanMs.least - spanMs.tolerance && lengthMs <= spanMs.most + spanMs.tolerance
  return isFit ? { startMs, endMs } : undefined
}

/** The span to use of a video of this duration; undefined if the video is too short. */
export const spanWithin = (wanted: Span | undefined, durationMs: number): Span | undefined => {
  const span = wanted ?? { startMs: 0, endMs: spanMs.most }
  const endMs = Math.min(span.endMs, durationMs)
  const isContained = wanted === undefined || span.endMs <= durationMs + spanMs.tolerance
  return isContained && endMs - span.startMs >= spanMs.least - spanMs.tolerance
    ? { startMs: span.startMs, endMs }
    : undefined
}

const mentionsMax = 100

/**
 * The mentions `@name` in a text, in order. Each mention is a list of possible names, the most likely first, because a
 * dot may belong to the name or end the sentence. An `@` after a letter, as in a mail address, is not a mention.
 */
export const mentionsIn = (text: string): string[][] =>
  text
    .matchAll(/(?<![A-Za-z0-9_.@])@([A-Za-z0-9_.]+)/g)
    .take(mentionsMax)
    .map(([, given = '']) => {
      const name = given.toLowerCase()
      const bare = name.replace(/\.+$/, '')
      return Array.from({ length: name.length - bare.length + 1 }, (_, index) =>
        name.slice(0, name.length - index),
      ).filter(isUsername)
    })
    .filter((names) => names.length > 0)
    .toArray()

const qualities =
  'amber azure brave bright calm clever coral crimson dapper eager early fancy gentle gilded golden happy hazel indigo ivory jade jolly keen lively lucky lunar mellow merry misty noble olive opal pearl polar proud quick quiet rapid rosy royal ruby rustic sandy scarlet silver sleek snowy solar sunny swift teal tidy velvet violet vivid warm wild windy witty young zesty'.split(
    ' ',
  )
const beings =
  'badger bear beaver bison crane crow deer dolphin dove eagle elk falcon ferret finch fox gecko goose hare hawk heron ibis jackal jay kite koala lark lemur lion lynx magpie marten mole moose moth newt otter owl panda parrot pelican pika puffin quail rabbit raven robin seal shrew sparrow stork swan swift tern tiger toad trout turtle viper walrus weasel whale wolf wren zebra'.split(
    ' ',
  )

/** A random name that is easy to read and type. */
export const createUsername = (): string =>
  `${qualities[randomInt(qualities.length)]}.${beings[randomInt(beings.length)]}${randomInt(1_000, 10_000)}`

const prefix = 'char_'
export const publicIdOf = (id: string): string => `${prefix}${id}`

/** The internal id of a public id; undefined for any other text. */
export const idOfPublic = (text: string): string | undefined =>
  /^char_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text.slice(prefix.length) : undefined

export const characterNotFound = (id: string): ApiError =>
  new ApiError('character_not_found', {
    message: `There is no character '${id.slice(0, 60)}' in the account of this key.`,
  })
