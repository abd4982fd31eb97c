import type { RefusalCode } from '../../port/video.ts'
import { member, textOf } from '../json/lenient-json.ts'

/** An error as the vendor reported it. */
export interface VendorError {
  code: string | undefined
  type: string | undefined
  /** The request field it refers to. */
  field: string | undefined
  message: string | undefined
}

/** Finds the error in a response; vendors put it in different places. */
export function vendorErrorIn(body: unknown): VendorError | undefined {
  for (const layer of [member(body, 'data'), body]) {
    for (const name of ['error', 'fail_reason', 'failure_reason', 'detail', 'errors']) {
      const found = vendorErrorOf(member(layer, name))
      if (found !== undefined) return found
    }
  }
  return vendorErrorOf(body)
}

function vendorErrorOf(value: unknown): VendorError | undefined {
  if (Array.isArray(value)) return vendorErrorOf(value[0])
  if (typeof value === 'string') {
    const text = textOf(value)
    if (text === undefined) return undefined
    const isCode = /^[\w.-]{1,64}$/.test(text)
    return { code: isCode ? text : undefined, type: undefined, field: undefined, message: text }
  }
  const nested = member(value, 'error')
  if (nested !== undefined) return vendorErrorOf(nested)
  const found: VendorError = {
    code: textOf(member(value, 'code')),
    type: textOf(member(value, 'type')),
    field: textOf(member(value, 'param')) ?? lastStep(member(value, 'loc')),
    message: textOf(member(value, 'message')) ?? textOf(member(value, 'msg')),
  }
  return Object.values(found).some((part) => part !== undefined) ? found : undefined
}

/** Some frameworks give the field as a path, such as `["body", "prompt"]`; the body alone is not a field. */
function lastStep(path: unknown): string | undefined {
  return Array.isArray(path)
    ? textOf(path.findLast((step, index) => typeof step === 'string' && !(index === 0 && step === 'body')))
    : undefined
}

const moderation =
  /moderat|content_?(polic|filter|violat|block|restrict)|policy_?violat|safety|sensitive|nsfw|prohibited/
const moderationPhrase =
  /content polic|moderation|usage guidelines|safety (system|filter|polic|check)|violat\w+ .{0,40}(polic|guideline)/i
const imageField = /^(input_?reference|images?(_?urls?)?$|reference_?images?|picture)/
const image = /image|picture|input_?reference/
const imageFault =
  /invalid|unsupported|bad|corrupt|unreadable|missing|large|small|size|format|decod|pars|dimension|mismatch/
const parameterFault =
  /invalid_?(param|value|arg|type|input|prompt|size|second|duration)|unsupported_?(param|value)|(missing|unknown)_?(required_?)?param|(above|below)_?m(ax|in)|out_?of_?range|validation/

/**
 * Maps a vendor error to a public code. Only a clear error of the caller gets a specific code; the model name and the
 * credentials are ours, so everything else is `upstream_error`.
 */
export function refusalCodeOf(vendorError: VendorError | undefined): RefusalCode {
  if (vendorError === undefined) return 'upstream_error'
  if (isModeration(vendorError)) return 'content_policy_violation'
  const code = plain(vendorError.code ?? vendorError.type)
  const field = plain(vendorError.field)
  if (imageField.test(field) || (image.test(code) && imageFault.test(code))) return 'invalid_image'
  if (field === 'model' || code.includes('model')) return 'upstream_error'
  if (field !== '' || parameterFault.test(code)) return 'invalid_parameter'
  return 'upstream_error'
}

/** Whether a vendor does not know the voice, which only speech has. */
export function isVoiceRefused(vendorError: VendorError | undefined): boolean {
  return /(^|_)voice$/.test(plain(vendorError?.field)) || plain(vendorError?.code) === 'voice_not_supported'
}

const outputTooLong = /output_?length|(output|completion)_?(limit|tokens?_?exceeded)|max_?output/
const inputTooLong = /context_?(length|window|limit)/

/** Maps a vendor error about the length of input or output, which only language models have. */
export function lengthCodeOf(
  vendorError: VendorError | undefined,
): 'context_length_exceeded' | 'output_length_exceeded' | undefined {
  const code = plain(vendorError?.code ?? vendorError?.type)
  if (outputTooLong.test(code)) return 'output_length_exceeded'
  return inputTooLong.test(code) ? 'context_length_exceeded' : undefined
}

/** The message is used only if there is no code and no type. */
function isModeration(vendorError: VendorError): boolean {
  if (moderation.test(plain(vendorError.code)) || moderation.test(plain(vendorError.type))) return true
  const onlyMessage = vendorError.code === undefined && vendorError.type === undefined
  return onlyMessage && moderationPhrase.test(vendorError.message ?? '')
}

/** Whether the message is about content, whatever the code is. */
export function isContentRefused(vendorError: VendorError | undefined): boolean {
  return moderationPhrase.test(vendorError?.message ?? '')
}

function plain(word: string | undefined): string {
  return (word ?? '').toLowerCase().replaceAll(/[\s.-]+/g, '_')
}
