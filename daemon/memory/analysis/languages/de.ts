import { latinTables } from './latin.ts'

export const GERMAN = latinTables({
  language: 'de',
  // Folded: an umlaut has lost its dots, an ß is two letters.
  stop: [
    'aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch auf aus bei beim bin bis',
    'bist da damit dann das dass dein deine deinem deinen deiner dem den der des dessen dich die dies diese diesem diesen',
    'dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur gegen gibt habe',
    'haben habt hast hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede',
    'jedem jeden jeder jedes jetzt kann kannst kein keine keinem keinen keiner konnen man mein meine meinem meinen meiner',
    'mich mir mit nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind',
    'so soll sollte sondern um und uns unser unsere unserem unseren unter viel vom von vor war waren warum was weil welche',
    'welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will wir wird wo woher wohin wurde',
    'wurden zu zum zur zwischen wann',
  ],
  telling: [
    'wohnt arbeitet mag liebt mochte braucht spielt trinkt isst fahrt spricht benutzt heisst geht kommt darf muss',
    'immer nie heute morgen gestern abend nacht woche jahr tag zeit gut gute neue alte bitte danke weiss freund',
    'freundin haus hause arbeit nummer strasse gern gerne lieber jede',
  ],
  months: [
    ...['januar|jan', 'februar|feb', 'marz', 'april|apr', 'mai', 'juni|jun', 'juli|jul', 'august|aug'],
    ...['september|sept', 'oktober|okt', 'november|nov', 'dezember|dez'],
  ],
  weekdays: ['sonntag', 'montag', 'dienstag', 'mittwoch', 'donnerstag', 'freitag', 'samstag'],
  of: 'im',
  yesterday: 'gestern(?: abend| nacht)?',
  today: 'heute(?: abend| morgen| nacht)?',
  tomorrow: 'morgen(?: fruh| abend)?',
  next: 'nachsten|kommenden',
  time: 'vor|jahre?n?|monate?n?|wochen?|tage?n?|seit|neulich|kurzlich',
  first: 'ich|mein|meine|meinem|meinen|meiner|mir|mich|wir|unser|unsere|unserem|unseren|uns',
  you: 'du|dein|deine|dir|dich|ihr|euch|euer',
  greeting: 'hallo|hi|guten (?:tag|morgen|abend)|tschuss|danke|super|gluckwunsch|bis bald',
  when: 'wann|seit wann|bis wann|um wie viel uhr|(?:an |in )?welche[mnrs]? (?:tag|datum|monat|jahr)',
  place: 'wo|wohin|woher|in welche[mnr]? (?:stadt|land|ort|strasse)|welche[rs]? (?:stadt|land|ort)',
  duration: 'wie (?:lange|oft)',
  title: 'buch|bucher|film|lied|spiel|serie|name|heisst|hiess|titel|marke|autor|firma',
  person: 'wer|wem|wen|wessen|mit wem|von wem|fur wen',
  at: '(?:in|im|nach|aus|bei|zu|nahe)(?:\\s+(?:der|dem|den|die))?',
  tongues:
    'Englisch|Deutsch|Franzosisch|Spanisch|Italienisch|Portugiesisch|Niederlandisch|Chinesisch|Arabisch|Russisch|Januar|' +
    'Februar|Marz|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember',
  often: 'seit|immer|nie|manchmal|oft|jeden?|jede|wahrend|mal|stunden?|minuten|tagen?|wochen?|monaten?|jahren?',
  kin: '[Mm]utter|[Vv]ater|[Mm]ama|[Pp]apa|[Ss]chwester|[Bb]ruder|[Ff]reund|[Ff]reundin|[Ff]rau|[Mm]ann|[Ss]ohn|[Tt]ochter|[Kk]inder|[Ff]amilie|[Tt]eam|[Nn]achbar|[Nn]achbarin|[Oo]ma|[Oo]pa|[Oo]nkel|[Tt]ante|[Cc]ousin|[Cc]ousine|[Cc]hef|[Cc]hefin',
  hasCapitalNouns: true,
})
