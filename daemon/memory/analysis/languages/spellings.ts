// British and American spellings of English words. What was stored in one is asked for in the other, so both become one
// term: the stem of the American spelling. By stem, so that one pair serves all forms: colour, colours, coloured.

import { stemEnglish } from '../stems/english.ts'

/** Verbs in -ise that Americans write with -ize, without their last two letters: with their nouns in -isation. */
const ISE = [
  'agon anonym antagon apolog author bapt capital categor central character civil collectiv colon commercial',
  'computer critic crystall custom decentral demon digit dramat econom emphas empath energ epitom equal fantas',
  'fertil final formal general global harmon hospital human hypnot ideal idol immun individual industrial initial',
  'institutional international legal legitim liberal local mag material maxim mechan memor mesmer mineral minim',
  'mobil modern monopol moral national natural neutral normal optim organ ostrac patron penal personal plagiar',
  'polar popular pressur priorit privat public random rational real recogn reorgan revital revolution scrutin',
  'sensit serial social special stabil standard steril subsid summar symbol sympath synchron synthes terror',
  'theor token traumat trivial util vandal vapor verbal visual vocal western',
]

/** British, American. Each with the forms whose stem is another. */
const PAIRS = [
  'armour armor|behaviour behavior|colour color|clamour clamor|demeanour demeanor|endeavour endeavor|favour favor',
  'favourite favorite|favouritism favoritism|fervour fervor|flavour flavor|harbour harbor|honour honor|humour humor',
  'labour labor|labourer laborer|neighbour neighbor|neighbourhood neighborhood|odour odor|parlour parlor',
  'rancour rancor|rigour rigor|rumour rumor|saviour savior|savour savor|savoury savory|splendour splendor',
  'tumour tumor|valour valor|vapour vapor|vigour vigor|discolour discolor|dishonour dishonor',
  'centre center|fibre fiber|litre liter|lustre luster|meagre meager|metre meter|centimetre centimeter',
  'kilometre kilometer|millimetre millimeter|sabre saber|sombre somber|spectre specter|theatre theater',
  'manoeuvre maneuver|reconnoitre reconnoiter',
  'defence defense|licence license|offence offense|pretence pretense|practise practice',
  'analyse analyze|paralyse paralyze|catalyse catalyze|breathalyse breathalyze',
  'analogue analog|catalogue catalog|dialogue dialog|monologue monolog|prologue prolog|epilogue epilog',
  'programme program|gramme gram|kilogramme kilogram|cheque check',
  'anaemia anemia|anaemic anemic|anaesthetic anesthetic|anaesthesia anesthesia|anaesthetist anesthetist',
  'archaeology archeology|archaeologist archeologist|caesarean cesarean|diarrhoea diarrhea|encyclopaedia encyclopedia',
  'foetus fetus|foetal fetal|gynaecology gynecology|gynaecologist gynecologist|haemoglobin hemoglobin',
  'haemorrhage hemorrhage|leukaemia leukemia|mediaeval medieval|oesophagus esophagus|oestrogen estrogen',
  'orthopaedic orthopedic|paediatric pediatric|paediatrician pediatrician|toxaemia toxemia',
  'ageing aging|acknowledgement acknowledgment|judgement judgment|sizeable sizable|likeable likable',
  'aluminium aluminum|aeroplane airplane|artefact artifact|cosy cozy|cosier cozier|doughnut donut|enquire inquire',
  'enquiry inquiry|enrol enroll|enrolment enrollment|fulfil fulfill|fulfilment fulfillment|furore furor|grey gray',
  'greyish grayish|instalment installment|instil instill|jewellery jewelry|jeweller jeweler|kerb curb|marvellous marvelous',
  'mould mold|mouldy moldy|moult molt|moustache mustache|omelette omelet|plough plow|pyjamas pajamas',
  'sceptic skeptic|scepticism skepticism|skilful skillful|smoulder smolder|snowplough snowplow',
  'sulphur sulfur|sulphate sulfate|towards toward|traveller traveler|tyre tire|wilful willful|woollen woolen',
  'yoghurt yogurt|whisky whiskey|draughty drafty|counsellor counselor|councillor councilor',
  'distil distill|gaol jail|glycerine glycerin|grandad granddad|mollusc mollusk|nought naught|phial vial|pedlar peddler',
  'premiss premise|racoon raccoon|tranquillity tranquility|backwards backward',
  'forwards forward|afterwards afterward|upwards upward|downwards downward',
]

export function englishSpellings(): ReadonlyMap<string, string> {
  const pairs = [
    ...words(ISE).map((start) => [`${start}ise`, `${start}ize`]),
    ...PAIRS.flatMap((line) => line.split('|')).map((pair) => pair.split(' ')),
  ]
  const spellings = new Map<string, string>()
  for (const [british = '', american = ''] of pairs) {
    const [from, to] = [stemEnglish(british), stemEnglish(american)]
    if (from !== to) spellings.set(from, to)
  }
  return spellings
}

function words(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(' '))
}
