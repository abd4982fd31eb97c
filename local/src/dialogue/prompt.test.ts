import { expect, test } from 'vitest'

import type { PromptMessage } from './dialogue-task.ts'
import { writePrompt, type Vocabulary } from './prompt.ts'

/** A vocabulary of whole words, which makes prompts readable. */
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

const say = (role: PromptMessage['role'], text: string): PromptMessage => ({
  role,
  text,
  written: text,
  audioSeconds: 0,
})

test('a prompt has the format that the model was trained on', () => {
  const { vocabulary, show } = words()
  const messages = [
    say('system', 'Be kind'),
    say('user', 'Hi'),
    say('assistant', 'Hello'),
    say('user', 'Bye'),
  ]
  const { tokens } = writePrompt(messages, 100, vocabulary)
  expect(show(tokens).replaceAll(' \n ', '\n')).toBe(
    '<s> <|system|>\nBe kind </s>\n<|user|>\nHi </s>\n<|assistant|>\nHello </s>\n<|user|>\nBye </s>\n<|assistant|> \n',
  )
})

test('the oldest messages are dropped first, and instructions never', () => {
  const { vocabulary, show } = words()
  const messages = [
    say('user', 'first first first'),
    say('assistant', 'second'),
    say('system', 'rule'),
    say('user', 'third'),
    say('assistant', 'fourth'),
    say('user', 'last'),
  ]
  const included = (maxTokens: number) => {
    const { tokens } = writePrompt(messages, maxTokens, vocabulary)
    expect(tokens.length).toBeLessThanOrEqual(maxTokens)
    return show(tokens).match(/first|second|rule|third|fourth|last/gu)
  }
  expect(included(100)).toHaveLength(8)
  expect(included(30)).toEqual(['second', 'rule', 'third', 'fourth', 'last'])
  expect(included(24)).toEqual(['rule', 'third', 'fourth', 'last'])
  expect(included(14)).toEqual(['rule', 'last'])
  expect(() => included(13)).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }))
})

test('a text that is far too long is rejected without encoding it', () => {
  const { vocabulary } = words()
  const encode = (text: string) => {
    if (text.length > 1000) throw new Error('This text must not be encoded.')
    return vocabulary.encode(text)
  }
  const messages = [say('user', 'a'.repeat(10_000)), say('user', 'last')]
  expect(writePrompt(messages, 50, { ...vocabulary, encode }).tokens.length).toBeLessThan(50)
  expect(() => writePrompt(messages.slice(0, 1), 50, { ...vocabulary, encode })).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded' }),
  )
})

test('transcribed audio counts as audio and not as text', () => {
  const { vocabulary } = words()
  const spokenMessage: PromptMessage = {
    role: 'user',
    text: 'answer this\nwhat is it',
    written: 'answer this',
    audioSeconds: 2.5,
  }
  const { tokens, writtenTokens, audioSeconds } = writePrompt([spokenMessage], 100, vocabulary)
  expect(tokens.length - writtenTokens).toBe('\n what is it'.split(' ').length)
  expect(audioSeconds).toBe(2.5)
})
