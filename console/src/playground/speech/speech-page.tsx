import { useTexts } from '../../i18n/texts.ts'
import { Balance } from '../../shell/balance.tsx'
import { Page } from '../../shell/page.tsx'
import { Card } from '../../ui/card.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { useAudioModels } from '../audio/audio-models.ts'
import { CodeCard } from '../audio/code-card.tsx'
import { audioTexts } from '../audio/texts.ts'
import { playgroundTabs, playgroundTexts } from '../tabs.ts'
import { LiveTake } from './live-take.tsx'
import { buildBody, useSpeechForm } from './speech-fields.ts'
import { SpeechForm } from './speech-form.tsx'
import { TakeList } from './take-list.tsx'
import { useTakes } from './takes.ts'
import { speechTexts } from './texts.ts'

import layout from '../audio/layout.module.css'

export const SpeechPage = () => {
  const playground = useTexts(playgroundTexts)
  const audio = useTexts(audioTexts)
  const texts = useTexts(speechTexts)
  const { models, data, error, refetch } = useAudioModels('speech')
  const [form, setForm] = useSpeechForm(models, texts.example)
  const [current, ...earlier] = useTakes()
  const body = buildBody(form)
  return (
    <Page title={playground.title} tabs={playgroundTabs(playground)} actions={<Balance />}>
      {error !== null && data === undefined && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={640} />}
      {data !== undefined && models.length === 0 && (
        <EmptyState title={audio.noModels.title}>{audio.noModels.text}</EmptyState>
      )}
      {models.length > 0 && (
        <div className={layout['columns']}>
          <SpeechForm models={models} form={form} setForm={setForm} />
          <div className={layout['results']}>
            {current === undefined ? (
              <Card title={texts.result}>
                <EmptyState title={texts.empty.title}>{texts.empty.text}</EmptyState>
              </Card>
            ) : (
              <LiveTake take={current} />
            )}
            {earlier.length > 0 && <TakeList takes={earlier} />}
            <CodeCard operation="createSpeech" body={{ ...body }} fileName={`speech.${form.format}`} />
          </div>
        </div>
      )}
    </Page>
  )
}
