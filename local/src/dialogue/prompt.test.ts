import { expect, test } from 'vitest'

import type { Turn } from './dialogue-task.ts'
import { writePrompt, type Vocabulary } from './prompt.ts'

/** A vocabulary of words, which shows what was written. */
function words() {
  const known: string[] = ['<s>', '</s>']
  const vocabulary: Vocabulary = {
    begin: 0,
    end: 1,
    encode: (text) =>
      (text.match(/<\|\w+\|>|\w+|\n/gu) ?? []).map((word) =>
        known.includes(word) ? known.indexOf(word) : known.push(word) - 1,
      ),
  }
  const show = (tokens: number[]) => tokens.map((token) => known[token]).join(' ')
  return { vocabulary, show }
}

const say = (role: Turn['role'], text: string): Turn => ({ role, text, written: text, heardSeconds: 0 })

test('a conversation is written the way the model was trained on', () => {
  const { vocabulary, show } = words()
  const turns = [say('system', 'Be kind'), say('user', 'Hi'), say('assistant', 'Hello'), say('user', 'Bye')]
  const { tokens } = writePrompt(turns, 100, vocabulary)
  expect(show(tokens).replaceAll(' \n ', '\n')).toBe(
    '<s> <|system|>\nBe kind </s>\n<|user|>\nHi </s>\n<|assistant|>\nHello </s>\n<|user|>\nBye </s>\n<|assistant|> \n',
  )
})

test('what does not fit goes from the oldest on, and instructions never', () => {
  const { vocabulary, show } = words()
  const turns = [
    say('user', 'first first first'),
    say('assistant', 'second'),
    say('system', 'rule'),
    say('user', 'third'),
    say('assistant', 'fourth'),
    say('user', 'last'),
  ]
  const kept = (room: number) => {
    const { tokens } = writePrompt(turns, room, vocabulary)
    expect(tokens.length).toBeLessThanOrEqual(room)
    return show(tokens).match(/first|second|rule|third|fourth|last/gu)
  }
  expect(kept(100)).toHaveLength(8)
  expect(kept(30)).toEqual(['second', 'rule', 'third', 'fourth', 'last'])
  expect(kept(24)).toEqual(['rule', 'third', 'fourth', 'last'])
  expect(kept(14)).toEqual(['rule', 'last'])
  expect(() => kept(13)).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }))
})

test('a text far too long is refused without looking at it', () => {
  const { vocabulary } = words()
  const encode = (text: string) => {
    if (text.length > 1000) throw new Error('This text need not be looked at.')
    return vocabulary.encode(text)
  }
  const turns = [say('user', 'a'.repeat(10_000)), say('user', 'last')]
  expect(writePrompt(turns, 50, { ...vocabulary, encode }).tokens.length).toBeLessThan(50)
  expect(() => writePrompt(turns.slice(0, 1), 50, { ...vocabulary, encode })).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded' }),
  )
})

test('what was heard counts as sound and not as text', () => {
  const { vocabulary } = words()
  const heard: Turn = {
    role: 'user',
    text: 'answer this\nwhat is it',
    written: 'answer this',
    heardSeconds: 2.5,
  }
  const { tokens, writtenTokens, heardSeconds } = writePrompt([heard], 100, vocabulary)
  expect(tokens.length - writtenTokens).toBe('\n what is it'.split(' ').length)
  expect(heardSeconds).toBe(2.5)
})
