import { useTexts } from '../../i18n/texts.ts'
import { Balance } from '../../shell/balance.tsx'
import { Page } from '../../shell/page.tsx'
import { Card } from '../../ui/card.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { recordingPlaceholder } from '../audio/audio-code.ts'
import { useAudioModels } from '../audio/audio-models.ts'
import { CodeCard } from '../audio/code-card.tsx'
import { audioTexts } from '../audio/texts.ts'
import { playgroundTabs, playgroundTexts } from '../tabs.ts'
import { RunView } from './run-view.tsx'
import { buildFields, needsTask, useRun } from './runs.ts'
import { transcriptionTexts } from './texts.ts'
import { useTranscriptionForm } from './transcription-fields.ts'
import { TranscriptionForm } from './transcription-form.tsx'

import layout from '../audio/layout.module.css'

export const TranscriptionPage = () => {
  const playground = useTexts(playgroundTexts)
  const audio = useTexts(audioTexts)
  const texts = useTexts(transcriptionTexts)
  const { models, data, error, refetch } = useAudioModels('transcription')
  const [form, setForm] = useTranscriptionForm(models)
  const run = useRun()
  const isTask = form.file !== undefined && needsTask(form.file)
  const direct = form.mode === 'translate' ? 'createTranslation' : 'createTranscription'
  const fields = buildFields(form)
  const body = isTask ? { ...fields, response_format: undefined, task: form.mode } : fields
  return (
    <Page title={playground.title} tabs={playgroundTabs(playground)} actions={<Balance />}>
      {error !== null && data === undefined && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={560} />}
      {data !== undefined && models.length === 0 && (
        <EmptyState title={audio.noModels.title}>{audio.noModels.text}</EmptyState>
      )}
      {models.length > 0 && (
        <div className={layout['columns']}>
          <TranscriptionForm models={models} form={form} setForm={setForm} />
          <div className={layout['results']}>
            {run === undefined ? (
              <Card title={texts.result}>
                <EmptyState title={texts.empty.title}>{texts.empty.text}</EmptyState>
              </Card>
            ) : (
              <RunView key={run.sound.url} run={run} />
            )}
            <CodeCard
              isForm
              operation={isTask ? 'createTranscriptionTask' : direct}
              body={{ ...JSON.parse(JSON.stringify(body)), file: recordingPlaceholder }}
              fileName={form.file?.name.replaceAll(/[^\w.-]/g, '_') ?? 'recording.mp3'}
            />
          </div>
        </div>
      )}
    </Page>
  )
}
