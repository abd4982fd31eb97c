/**
 * Enhances prompts by rules, without a model: it adds light, lens and camera motion that fit the scene, unless the prompt
 * mentions them. The result is deterministic. It cannot translate.
 */
import type { PromptEnhancer } from './enhance-prompt.ts'

interface Aspect {
  /** Matches a prompt that mentions it already. */
  isMentioned: RegExp
  /** The first entry that matches the scene applies; the last one matches any scene. */
  words: [scene: RegExp, words: string][]
}

const anything = /^/

const light: Aspect = {
  isMentioned: /\b(light|lighting|lit|backlit|sunlit|glow(ing)?|shadows?|neon|candle(light)?)\b/i,
  words: [
    [/\b(night|midnight|moon(lit|light)?|stars?|starry)\b/i, 'cool moonlight with deep, soft shadows'],
    [/\b(sunset|sunrise|dusk|dawn|evening|golden hour)\b/i, 'warm low sun with long shadows'],
    [
      /\b(rain(y|ing)?|storm(y)?|fog(gy)?|mist(y)?|snow(y|ing)?|overcast)\b/i,
      'muted light from an overcast sky',
    ],
    [
      /\b(room|kitchen|office|indoors?|interior|studio|caf[eé]|library)\b/i,
      'soft window light from one side',
    ],
    [/\b(underwater|ocean floor|reef|deep sea|aquarium)\b/i, 'shafts of light falling from above'],
    [/\b(space|galaxy|nebula|planet|orbit)\b/i, 'hard sunlight against deep black'],
    [anything, 'soft natural light'],
  ],
}

const lens: Aspect = {
  isMentioned:
    /\b(lens|\d+ ?mm|macro|close-?up|wide[- ](shot|angle)|bokeh|depth of field|telephoto|fisheye|aerial|drone)\b/i,
  words: [
    [
      /\b(insect|bee|ant|butterfly|flower|petal|drop(let)?|leaf|eye)\b/i,
      'macro lens with a very shallow focus',
    ],
    [
      /\b(portrait|face|wom[ae]n|m[ae]n|girl|boy|child(ren)?|dancer|person|chef)\b/i,
      '85 mm lens with a softly blurred background',
    ],
    [
      /\b(mountains?|valley|desert|dunes?|sea|ocean|coast|beach|forest|woods|city|skyline|sky|field|landscape|lake|river|space|planet)\b/i,
      'wide 24 mm lens with deep focus',
    ],
    [anything, '35 mm lens with a natural perspective'],
  ],
}

const motion: Aspect = {
  isMentioned:
    /\b(camera|pan(ning|s)?|dolly|zoom(s|ing)?|tracking shot|tilt(s|ing)?|crane shot|handheld|time-?lapse|slow motion|orbit(s|ing)? around|timelapse)\b/i,
  words: [
    [
      /\b(runs?|running|races?|racing|chases?|chasing|drives?|driving|rides?|riding|gallop(s|ing)?|fl(y|ies|ying)|swims?|swimming)\b/i,
      'the camera tracks smoothly alongside',
    ],
    [
      /\b(mountains?|valley|desert|dunes?|coast|beach|forest|woods|city|skyline|landscape|field|lake|river)\b/i,
      'the camera glides slowly forward',
    ],
    [/\b(portrait|face|flower|insect|eye|drop(let)?)\b/i, 'the camera holds almost still'],
    [anything, 'a slow, steady push in'],
  ],
}

const wordsFor = ({ isMentioned, words }: Aspect, prompt: string): string[] => {
  if (isMentioned.test(prompt)) return []
  const fitting = words.find(([scene]) => scene.test(prompt))
  return fitting === undefined ? [] : [fitting[1]]
}

/** Whether at least half of the letters are Latin. A prompt without letters counts as Latin. */
export const isMostlyLatin = (prompt: string): boolean => {
  const letters = prompt.match(/\p{L}/gu) ?? []
  const latin = letters.filter((letter) => /\p{Script=Latin}/u.test(letter))
  return latin.length * 2 >= letters.length
}

const enhance = (prompt: string): string => {
  if (!isMostlyLatin(prompt)) return prompt
  const added = [light, lens, motion].flatMap((aspect) => wordsFor(aspect, prompt)).join(', ')
  if (added === '') return prompt
  const trimmed = prompt.trimEnd()
  const sentence = /[.!?…]$/.test(trimmed) ? trimmed : `${trimmed.replace(/[,;:\s]+$/, '')}.`
  return `${sentence} ${added.charAt(0).toUpperCase()}${added.slice(1)}.`
}

export const ruleEnhancer: PromptEnhancer = {
  canEnhance: isMostlyLatin,
  enhance: async (prompt) => enhance(prompt),
}
