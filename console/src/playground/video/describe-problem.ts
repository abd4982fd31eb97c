import type { VideoForm } from './form.ts'
import { findProblems } from './form.ts'
import type { Offer } from './offers.ts'
import type { VideoTexts } from './texts.ts'

/** Why the form cannot be sent, in the order of its fields. */
export const describeProblem = (form: VideoForm, offer: Offer, texts: VideoTexts): string | undefined => {
  const [problem] = findProblems(form, offer)
  if (problem === undefined) return undefined
  const { model, maxImages, minSeconds, maxSeconds } = offer
  const described = {
    prompt: texts.promptMissing,
    seconds: texts.secondsWrong(
      offer.seconds?.map((seconds) => texts.secondsText(seconds)).join(', ') ??
        texts.secondsRange(String(minSeconds), String(maxSeconds)),
    ),
    size: texts.size,
    fewImages: texts.fewImages(model.id),
    manyImages: maxImages === 0 ? texts.noImages(model.id) : texts.manyImages(model.id, maxImages),
    style: texts.styleWrong,
  }
  return described[problem]
}
