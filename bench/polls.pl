# MODULE ROUNDS JOB...: poll these jobs, one after another, in one process, as GRAM's script does. Prints the seconds of
# each poll, a line each, and the CPU seconds of all.
use strict;
use warnings;
use Time::HiRes ();

my ($module, $rounds, @jobs) = @ARGV;
require $module;
for my $round (0 .. $rounds) {
    for my $number (@jobs) {
        my $job = bless {jobid => [$number], uniqid => ['1.2']}, 'Globus::GRAM::JobDescription';
        my $began = Time::HiRes::time();
        my $said = Globus::GRAM::JobManager::samgrid->new($job)->poll();
        my $took = Time::HiRes::time() - $began;
        die "a poll of $number said: " . (ref $said ? 'nothing' : $said) . "\n" unless $said =~ /^GRAM_SCRIPT_JOB_STATE:1$/;
        printf("%.7f\n", $took) if $round;    # a first round does not count
    }
}
my $cpu = 0;
$cpu += $_ for times;
printf("%.4f\n", $cpu / ($rounds + 1) / @jobs);
