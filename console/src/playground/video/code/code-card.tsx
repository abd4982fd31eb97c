/** The request of the form as code, in several languages and both dialects. */
import { useState } from 'react'

import { useTexts } from '../../../i18n/texts.ts'
import { Segmented } from '../../../ui/choice.tsx'
import { codeLanguages, CodePanels } from '../../code/code-panels.tsx'
import { findProblems, type VideoForm } from '../form.ts'
import { formatSize, readOffer, taskPath, videoPath, type Endpoint, type Offer } from '../offers.ts'
import { videoTexts, type VideoTexts } from '../texts.ts'
import { readRequest, writeCode, type CodeRequest } from './write-code.ts'

interface CodeCardProps {
  form: VideoForm
  offer: Offer
  /** Of a remix: its source, and its size if that is another one. */
  remix?: { id: string; size: string | undefined }
}

const describeObstacle = (form: VideoForm, offer: Offer, texts: VideoTexts): string | undefined => {
  const { endpoint, seconds = [], sizes, maxImages } = offer
  const [problem] = findProblems(form, offer).filter((one) => one !== 'prompt')
  const length =
    seconds.length > 0
      ? seconds.map((one) => texts.secondsText(one)).join(', ')
      : texts.secondsRange(String(offer.minSeconds), String(offer.maxSeconds))
  if (problem === 'seconds') return texts.code.otherSeconds(endpoint, length)
  if (problem === 'size') return texts.code.otherSize(endpoint, sizes.map(formatSize).join(', '))
  if (problem === 'fewImages') return texts.code.otherImages(endpoint)
  return problem === 'manyImages' ? texts.code.otherImagesMany(endpoint, maxImages) : undefined
}

export const CodeCard = ({ form, offer, remix }: CodeCardProps) => {
  const texts = useTexts(videoTexts)
  const [dialect, setDialect] = useState<Endpoint>(offer.endpoint)
  const other = readOffer(offer.model, offer.endpoint === videoPath ? taskPath : videoPath)
  const shown = other !== undefined && dialect === other.endpoint && remix === undefined ? other : offer
  const prompt = form.prompt.trim() === '' ? (texts.samples[0] ?? '') : form.prompt
  const filled = { ...form, prompt }
  const request: CodeRequest =
    remix === undefined
      ? readRequest(filled, shown)
      : {
          ...{ kind: 'remix', sourceId: remix.id, images: [] },
          fields: { prompt, ...(remix.size !== undefined && { size: remix.size }) },
        }
  const obstacle = remix === undefined ? describeObstacle(form, shown, texts) : undefined
  const panels = codeLanguages.map((language) => ({
    language,
    code: (obstacle === undefined ? writeCode(request, language) : undefined) ?? {
      none: obstacle ?? (language === 'cli' ? texts.code.cliOther : texts.code.openAiOther),
    },
  }))
  return (
    <CodePanels
      panels={panels}
      aside={
        other !== undefined &&
        remix === undefined && (
          <Segmented
            label={texts.code.dialect}
            options={[offer.endpoint, other.endpoint].map((value) => ({
              value,
              label: <span className="mono">{value}</span>,
            }))}
            value={shown.endpoint}
            onChange={setDialect}
          />
        )
      }
    />
  )
}
